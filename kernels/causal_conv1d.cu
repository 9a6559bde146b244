// y = silu(sum of four taps over this element and the three before it + bias), bf16: a thread 16 bytes of a channel, which
// also reads the pack before its own for the three elements it needs of it; one element where rows are no multiple of
// eight.
#include <kernelwright/activation.cuh>
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

using T = __nv_bfloat16;
constexpr int kThreads = 128, kWidth = 4;

// Row blockIdx.x of images and channels; `length` is a multiple of V.
template <int V>
__global__ void __launch_bounds__(kThreads) causal_conv1d(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias,
                                                          T* __restrict__ y, int channels, int length) {
  using Pack = kw::Pack<T, V>;
  constexpr int kBefore = (kWidth - 1 + V - 1) / V * V;  // elements read before the thread's own: whole packs
  const int channel = blockIdx.x % channels, at = static_cast<int>(blockIdx.y * kThreads + threadIdx.x) * V;
  if (at >= length) return;
  x += static_cast<size_t>(blockIdx.x) * length;
  y += static_cast<size_t>(blockIdx.x) * length;

  float in[kBefore + V];
#pragma unroll
  for (int i = 0; i < kBefore + V; i += V) {
    const int from = at - kBefore + i;
    Pack pack{};
    if (from >= 0) pack = *reinterpret_cast<const Pack*>(x + from);
#pragma unroll
    for (int e = 0; e < V; ++e) in[i + e] = from >= 0 ? kw::to_float(pack.at[e]) : 0.0f;
  }
  const auto taps = reinterpret_cast<const kw::Pack<T, kWidth>*>(w)[channel];
  const float base = kw::to_float(bias[channel]);
  Pack out;
#pragma unroll
  for (int e = 0; e < V; ++e) {
    float sum = base;
#pragma unroll
    for (int tap = 0; tap < kWidth; ++tap) sum = fmaf(in[kBefore + e - (kWidth - 1) + tap], kw::to_float(taps.at[tap]), sum);
    out.at[e] = kw::from_float<T>(kw::silu(sum));
  }
  *reinterpret_cast<Pack*>(y + at) = out;
}

}  // namespace

KW_ENTRY(kw::In x, kw::In w, kw::In bias, kw::Out y, cudaStream_t stream) {
  const int channels = static_cast<int>(x.shape(1)), length = static_cast<int>(x.shape(2)), vector = length % 8 == 0 ? 8 : 1;
  const dim3 grid(static_cast<unsigned>(x.shape(0)) * channels, (length / vector + kThreads - 1) / kThreads);
  auto* kernel = vector == 8 ? &causal_conv1d<8> : &causal_conv1d<1>;
  kernel<<<grid, kThreads, 0, stream>>>(x.data<T>(), w.data<T>(), bias.data<T>(), y.data<T>(), channels, length);
}
