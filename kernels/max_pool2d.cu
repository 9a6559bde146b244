// The largest of each 2×2 square of NHWC images, fp16: a thread eight channels of a square (one where channels
// are no multiple of eight). Both rows of a square are whole lines.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

using T = __half;
constexpr int kThreads = 256;

// Row blockIdx.x of all images' rows of y; `channels` is a multiple of V.
template <int V>
__global__ void __launch_bounds__(kThreads) max_pool2d(const T* __restrict__ x, T* __restrict__ y, int width, int channels) {
  using Pack = kw::Pack<T, V>;
  const int packs = channels / V, i = blockIdx.y * kThreads + threadIdx.x;
  if (i >= width * packs) return;
  const int column = i / packs, pack = i % packs, line = 2 * width * packs;  // packs of a row of x
  const Pack* square = reinterpret_cast<const Pack*>(x) + 2 * static_cast<size_t>(blockIdx.x) * line + 2 * column * packs + pack;
  const Pack a = square[0], b = square[packs], c = square[line], d = square[line + packs];
  Pack out;
#pragma unroll
  for (int e = 0; e < V; ++e) {
    out.at[e] = __hmax_nan(__hmax_nan(a.at[e], b.at[e]), __hmax_nan(c.at[e], d.at[e]));
  }
  reinterpret_cast<Pack*>(y)[static_cast<size_t>(blockIdx.x) * width * packs + i] = out;
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const int width = static_cast<int>(y.shape(2)), channels = static_cast<int>(y.shape(3)), vector = channels % 8 == 0 ? 8 : 1;
  const dim3 grid(static_cast<unsigned>(y.shape(0) * y.shape(1)), (width * channels / vector + kThreads - 1) / kThreads);
  auto* kernel = vector == 8 ? &max_pool2d<8> : &max_pool2d<1>;
  kernel<<<grid, kThreads, 0, stream>>>(x.data<T>(), y.data<T>(), width, channels);
}
