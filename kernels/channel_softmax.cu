// Softmax over the middle axis, fp16: a thread a few neighbouring pixels, all their channels: two reads of x, the first
// for the running maximum and sum. Neighbouring threads hold neighbouring pixels, so accesses are whole lines.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

constexpr int kThreads = 128;
constexpr float kLog2e = 1.4426950408889634f;

// V pixels a thread; `pixels` is a multiple of V. Image blockIdx.y.
template <int V>
__global__ void __launch_bounds__(kThreads) channel_softmax(const __half* __restrict__ x, __half* __restrict__ y, int channels,
                                                            int64_t pixels) {
  using Pack = kw::Pack<__half, V>;
  const int64_t pixel = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * V;
  if (pixel >= pixels) return;
  const int64_t start = blockIdx.y * channels * pixels + pixel;

  float top[V], sum[V];
#pragma unroll
  for (int e = 0; e < V; ++e) top[e] = -__int_as_float(0x7f800000), sum[e] = 0.0f;
#pragma unroll 4
  for (int c = 0; c < channels; ++c) {
    const Pack pack = *reinterpret_cast<const Pack*>(x + start + c * pixels);
#pragma unroll
    for (int e = 0; e < V; ++e) {
      const float value = kw::to_float(pack.at[e]) * kLog2e, higher = fmaxf(top[e], value);
      sum[e] = fmaf(sum[e], exp2f(top[e] - higher), exp2f(value - higher));
      top[e] = higher;
    }
  }
#pragma unroll
  for (int e = 0; e < V; ++e) sum[e] = 1.0f / sum[e];
#pragma unroll 4
  for (int c = 0; c < channels; ++c) {
    Pack pack = *reinterpret_cast<const Pack*>(x + start + c * pixels);
#pragma unroll
    for (int e = 0; e < V; ++e) pack.at[e] = kw::from_float<__half>(exp2f(fmaf(kw::to_float(pack.at[e]), kLog2e, -top[e])) * sum[e]);
    *reinterpret_cast<Pack*>(y + start + c * pixels) = pack;
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const int channels = static_cast<int>(x.shape(1));
  const int64_t pixels = x.shape(2), vector = pixels % 4 == 0 ? 4 : 1;
  const dim3 grid(static_cast<unsigned>((pixels / vector + kThreads - 1) / kThreads), static_cast<unsigned>(x.shape(0)));
  auto* kernel = vector == 4 ? &channel_softmax<4> : &channel_softmax<1>;
  kernel<<<grid, kThreads, 0, stream>>>(x.data<__half>(), y.data<__half>(), channels, pixels);
}
