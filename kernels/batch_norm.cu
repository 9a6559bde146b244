// y = (x - mean) / sqrt(var + eps) · w + b by channel of NCHW images, and mean and var, fp16: a block a channel of all
// images, which reads it twice.
#include <kernelwright/candidate.h>
#include <kernelwright/moments.cuh>
#include <kernelwright/pack.cuh>

namespace {

using T = __half;

// Channel blockIdx.x of gridDim.x; `pixels` is a multiple of V.
template <int V, int kThreads>
__global__ void __launch_bounds__(kThreads) batch_norm(const T* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                                                       T* __restrict__ y, float* __restrict__ mean, float* __restrict__ variance,
                                                       int images, int pixels, float eps) {
  using Pack = kw::Pack<T, V>;
  __shared__ kw::Moments scratch[kThreads / 32];
  const int packs = pixels / V, channel = blockIdx.x;  // packs of a channel of an image
  const auto each = [&](auto use) {
#pragma unroll 2
    for (int i = threadIdx.x; i < images * packs; i += kThreads) {
      use((static_cast<size_t>(i / packs) * gridDim.x + channel) * packs + i % packs);
    }
  };

  kw::Moments part{};
  each([&](size_t at) {
    const Pack pack = reinterpret_cast<const Pack*>(x)[at];
    float values[V];
#pragma unroll
    for (int e = 0; e < V; ++e) values[e] = kw::to_float(pack.at[e]);
    part.add(values);
  });
  const kw::Moments all = kw::block_merge<kThreads>(part, scratch);
  const float spread = all.squares / all.count;
  const float scale = rsqrtf(spread + eps) * w[channel], bias = b[channel];
  if (threadIdx.x == 0) mean[channel] = all.mean, variance[channel] = spread;

  each([&](size_t at) {
    Pack pack = reinterpret_cast<const Pack*>(x)[at];
#pragma unroll
    for (int e = 0; e < V; ++e) pack.at[e] = kw::from_float<T>(fmaf(kw::to_float(pack.at[e]) - all.mean, scale, bias));
    reinterpret_cast<Pack*>(y)[at] = pack;
  });
}

template <int V>
auto kernel_for(bool small) {
  return small ? &batch_norm<V, 64> : &batch_norm<V, 512>;
}

}  // namespace

KW_ENTRY(kw::In x, kw::In w, kw::In b, kw::Out y, kw::Out center, kw::Out spread, float eps, cudaStream_t stream) {
  const int images = static_cast<int>(x.shape(0)), channels = static_cast<int>(x.shape(1)), pixels = static_cast<int>(x.shape(2));
  const bool small = images * pixels <= 1024;
  auto* kernel = pixels % 8 == 0 ? kernel_for<8>(small) : kernel_for<1>(small);
  kernel<<<channels, small ? 64 : 512, 0, stream>>>(x.data<T>(), w.data<float>(), b.data<float>(), y.data<T>(), center.data<float>(),
                                                   spread.data<float>(), images, pixels, eps);
}
