// Depthwise 3×3 convolution of NHWC images with zeros around them, fp16: a thread eight channels of a pixel (one where
// channels are no multiple of eight). Neighbouring pixels' reads overlap and come from L1.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

using T = __half;
constexpr int kThreads = 256;

// Row blockIdx.y of image blockIdx.z; `channels` is a multiple of V.
template <int V>
__global__ void __launch_bounds__(kThreads) depthwise_conv2d(const T* __restrict__ x, const T* __restrict__ w, T* __restrict__ y,
                                                             int height, int width, int channels) {
  using Pack = kw::Pack<T, V>;
  const int packs = channels / V, i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= width * packs) return;
  const int row = blockIdx.y, column = i / packs, pack = i % packs;
  const Pack* image = reinterpret_cast<const Pack*>(x) + static_cast<size_t>(blockIdx.z) * height * width * packs;
  float sum[V] = {};
#pragma unroll
  for (int dy = 0; dy < 3; ++dy) {
#pragma unroll
    for (int dx = 0; dx < 3; ++dx) {
      const int from_row = row + dy - 1, from_column = column + dx - 1;
      if (from_row < 0 || from_row >= height || from_column < 0 || from_column >= width) continue;
      const Pack in = image[(from_row * width + from_column) * packs + pack];
      const Pack tap = reinterpret_cast<const Pack*>(w)[(dy * 3 + dx) * packs + pack];
#pragma unroll
      for (int e = 0; e < V; ++e) sum[e] = fmaf(kw::to_float(in.at[e]), kw::to_float(tap.at[e]), sum[e]);
    }
  }
  Pack out;
#pragma unroll
  for (int e = 0; e < V; ++e) out.at[e] = kw::from_float<T>(sum[e]);
  reinterpret_cast<Pack*>(y)[(static_cast<size_t>(blockIdx.z) * height + row) * width * packs + i] = out;
}

}  // namespace

KW_ENTRY(kw::In x, kw::In w, kw::Out y, cudaStream_t stream) {
  const int height = static_cast<int>(x.shape(1)), width = static_cast<int>(x.shape(2)), channels = static_cast<int>(x.shape(3));
  const int vector = channels % 8 == 0 ? 8 : 1;
  const dim3 grid((width * channels / vector + kThreads - 1) / kThreads, height, static_cast<unsigned>(x.shape(0)));
  auto* kernel = vector == 8 ? &depthwise_conv2d<8> : &depthwise_conv2d<1>;
  kernel<<<grid, kThreads, 0, stream>>>(x.data<T>(), w.data<T>(), y.data<T>(), height, width, channels);
}
