// Convolution of NCHW images in fp16 with fp32 accumulation, for sm_80 and later, as an implicit matrix product: for each
// image [O, C R R] weights by [C R R, positions] columns, where a column is what one output position sees. Columns are
// gathered on their way to shared memory (kernelwright/gemm_tile.cuh). A 1 x 1 kernel with stride 1 and no padding sees
// the image itself, which is then copied 16 bytes at a time.
#include <kernelwright/candidate.h>
#include <kernelwright/gemm_tile.cuh>

namespace {

using T = __half;

template <bool kAligned>
using Tile = kw::GemmTile<T, kw::BLayout::kRows, 64, 128, 32, 64, 3, kAligned>;

struct Shape {
  int channels, height, width;
  int out_channels, out_height, out_width;
  int size, stride, padding;
};

struct Columns {
  const T* image;
  Shape s;
  int rows, columns;

  template <int N>
  __device__ void load(int row, int column, T (&chunk)[N]) const {
    const int taps = s.size * s.size, tap = row % taps;
    const T* plane = image + static_cast<int64_t>(row / taps) * s.height * s.width;
    int y = column / s.out_width, x = column % s.out_width;
    const int dy = tap / s.size - s.padding, dx = tap % s.size - s.padding;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const int from_y = y * s.stride + dy, from_x = x * s.stride + dx;
      const bool inside = row < rows && column + i < columns && from_y >= 0 && from_y < s.height && from_x >= 0 && from_x < s.width;
      chunk[i] = inside ? plane[from_y * s.width + from_x] : T(0.0f);
      if (++x == s.out_width) {
        x = 0;
        ++y;
      }
    }
  }
};

// kAligned: rows of the weights, and with kWhole those of the image, are whole chunks of 16 bytes.
template <bool kWhole, bool kAligned>
__global__ void __launch_bounds__(Tile<kAligned>::kThreads)
    conv2d_sm80(const T* __restrict__ x, const T* __restrict__ w, T* __restrict__ y, Shape s) {
  const int depth = s.channels * s.size * s.size, positions = s.out_height * s.out_width;
  const T* image = x + static_cast<int64_t>(blockIdx.z) * s.channels * s.height * s.width;
  T* out = y + static_cast<int64_t>(blockIdx.z) * s.out_channels * positions;
  const bool pairs = positions % 2 == 0;
  const auto store = [&](int row, int column, float first, float second) {
    T* at = out + static_cast<int64_t>(row) * positions + column;
    if (pairs) {
      *reinterpret_cast<uint32_t*>(at) = kw::pack_half2(first, second);
    } else {
      at[0] = __float2half_rn(first);
      if (column + 1 < positions) at[1] = __float2half_rn(second);
    }
  };
  const int m0 = blockIdx.y * Tile<kAligned>::kM, n0 = blockIdx.x * Tile<kAligned>::kN;
  const kw::Matrix<T> weights{w, s.out_channels, depth, depth};
  if constexpr (kWhole) {
    Tile<kAligned>::multiply(weights, {image, depth, positions, positions}, m0, n0, store);
  } else {
    Tile<kAligned>::multiply(weights, Columns{image, s, depth, positions}, m0, n0, store);
  }
}

template <bool kWhole, bool kAligned>
void launch(const T* x, const T* w, T* y, const Shape& s, int images, cudaStream_t stream) {
  kw::launch_tiles<Tile<kAligned>>(&conv2d_sm80<kWhole, kAligned>, s.out_channels, s.out_height * s.out_width, images, stream, x, w, y, s);
}

}  // namespace

KW_ENTRY(kw::In x, kw::In w, kw::Out y, int S, int P, cudaStream_t stream) {
  const auto size = [](const auto& tensor, int axis) { return static_cast<int>(tensor.shape(axis)); };
  const Shape s{size(x, 1), size(x, 2), size(x, 3), size(w, 0), size(y, 2), size(y, 3), size(w, 2), S, P};
  const bool whole = s.size == 1 && S == 1 && P == 0;
  const bool aligned = s.channels * s.size * s.size % 8 == 0 && (!whole || s.height * s.width % 8 == 0);
  auto* run = whole ? (aligned ? launch<true, true> : launch<true, false>) : (aligned ? launch<false, true> : launch<false, false>);
  run(x.data<T>(), w.data<T>(), y.data<T>(), s, size(x, 0), stream);
}
