// y = (x - mean) / sqrt(var + eps) · w + b over groups of channels of NCHW images, fp16: a block a group, whose elements
// are neighbours in memory. The group is read twice, the second time from L2.
#include <kernelwright/candidate.h>
#include <kernelwright/moments.cuh>
#include <kernelwright/pack.cuh>

namespace {

using T = __half;

// Group blockIdx.x of image blockIdx.y: `channels` of `pixels`, a multiple of V.
template <int V, int kThreads>
__global__ void __launch_bounds__(kThreads) group_norm(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ b,
                                                       T* __restrict__ y, int channels, int pixels, float eps) {
  using Pack = kw::Pack<T, V>;
  __shared__ kw::Moments scratch[kThreads / 32];
  const size_t start = (static_cast<size_t>(blockIdx.y) * gridDim.x + blockIdx.x) * channels * pixels;
  const Pack* in = reinterpret_cast<const Pack*>(x + start);
  Pack* out = reinterpret_cast<Pack*>(y + start);
  const int packs = channels * pixels / V, first = blockIdx.x * channels;

  kw::Moments part{};
#pragma unroll 2
  for (int p = threadIdx.x; p < packs; p += kThreads) {
    const Pack pack = in[p];
    float values[V];
#pragma unroll
    for (int e = 0; e < V; ++e) values[e] = kw::to_float(pack.at[e]);
    part.add(values);
  }
  const kw::Moments all = kw::block_merge<kThreads>(part, scratch);
  const float scale = rsqrtf(all.squares / all.count + eps);

#pragma unroll 2
  for (int p = threadIdx.x; p < packs; p += kThreads) {
    Pack pack = in[p];
    const int channel = first + p * V / pixels;
    const float weight = kw::to_float(w[channel]) * scale, bias = kw::to_float(b[channel]);
#pragma unroll
    for (int e = 0; e < V; ++e) pack.at[e] = kw::from_float<T>(fmaf(kw::to_float(pack.at[e]) - all.mean, weight, bias));
    out[p] = pack;
  }
}

template <int V>
auto kernel_for(bool small) {
  return small ? &group_norm<V, 64> : &group_norm<V, 512>;
}

}  // namespace

KW_ENTRY(kw::In x, kw::In w, kw::In b, kw::Out y, int G, float eps, cudaStream_t stream) {
  const int channels = static_cast<int>(x.shape(1)) / G, pixels = static_cast<int>(x.shape(2));
  const bool small = channels * pixels <= 1024;
  auto* kernel = pixels % 8 == 0 ? kernel_for<8>(small) : kernel_for<1>(small);
  kernel<<<dim3(G, static_cast<unsigned>(x.shape(0))), small ? 64 : 512, 0, stream>>>(x.data<T>(), w.data<T>(), b.data<T>(), y.data<T>(),
                                                                                     channels, pixels, eps);
}
