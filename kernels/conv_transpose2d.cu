// Transposed convolution of NCHW images in fp16 with fp32 accumulation, for sm_80 and later. Outputs that lie alike
// between the strides (one of S x S phases) see the same elements of the kernel, every S-th of it, so each phase is a
// matrix product without zeros in between: weights of those elements by columns of the image. Both are gathered on their
// way to shared memory (kernelwright/gemm_tile.cuh). The grid's third dimension is images and phases.
#include <kernelwright/candidate.h>
#include <kernelwright/gemm_tile.cuh>

namespace {

using T = __half;
using Tile = kw::GemmTile<T, kw::BLayout::kRows, 64, 128, 32, 64, 3>;

struct Shape {
  int channels, height, width;
  int out_channels, out_height, out_width;
  int size, stride, padding;
};

// One axis of a phase: outputs first, first + stride, …; output q sees x[q + shift - i] by element tap + stride i.
struct Phase {
  int first, count, tap, taps, shift;
  __device__ Phase(int phase, int out_size, const Shape& s)
      : first(phase),
        count(phase < out_size ? (out_size - phase + s.stride - 1) / s.stride : 0),
        tap((phase + s.padding) % s.stride),
        taps(tap < s.size ? (s.size - tap + s.stride - 1) / s.stride : 0),
        shift((phase + s.padding) / s.stride) {}
};

struct Weights {  // [channels out, channels in and elements in use]
  const T* w;
  Shape s;
  Phase down, across;
  int rows, columns;

  template <int N>
  __device__ void load(int row, int column, T (&chunk)[N]) const {
    const int taps = down.taps * across.taps;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const int at = column + i;
      chunk[i] = T(0.0f);
      if (row >= rows || at >= s.channels * taps) continue;
      const int channel = at / taps, tap = at % taps;
      const int r = down.tap + tap / across.taps * s.stride, c = across.tap + tap % across.taps * s.stride;
      chunk[i] = w[((static_cast<int64_t>(channel) * s.out_channels + row) * s.size + r) * s.size + c];
    }
  }
};

struct Columns {  // [channels in and elements in use, positions]
  const T* image;
  Shape s;
  Phase down, across;
  int rows, columns;

  template <int N>
  __device__ void load(int row, int column, T (&chunk)[N]) const {
    const int taps = down.taps * across.taps;
    const bool used = row < s.channels * taps;
    const int tap = used ? row % taps : 0;
    const T* plane = used ? image + static_cast<int64_t>(row / taps) * s.height * s.width : image;
    const int dy = used ? down.shift - tap / across.taps : 0, dx = used ? across.shift - tap % across.taps : 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const int y = (column + i) / across.count + dy, x = (column + i) % across.count + dx;
      const bool inside = used && column + i < columns && y >= 0 && y < s.height && x >= 0 && x < s.width;
      chunk[i] = inside ? plane[y * s.width + x] : T(0.0f);
    }
  }
};

__global__ void __launch_bounds__(Tile::kThreads)
    conv_transpose2d_sm80(const T* __restrict__ x, const T* __restrict__ w, T* __restrict__ y, Shape s) {
  const int phase = blockIdx.z % (s.stride * s.stride), image = blockIdx.z / (s.stride * s.stride);
  const Phase down(phase / s.stride, s.out_height, s), across(phase % s.stride, s.out_width, s);
  const int positions = down.count * across.count, n0 = blockIdx.x * Tile::kN;
  if (n0 >= positions) return;
  const int depth = max(1, s.channels * down.taps * across.taps);  // of a phase that sees nothing: a zero
  T* out = y + static_cast<int64_t>(image) * s.out_channels * s.out_height * s.out_width;
  const auto put = [&](int row, int position, float value) {
    const int at_y = down.first + position / across.count * s.stride, at_x = across.first + position % across.count * s.stride;
    out[(static_cast<int64_t>(row) * s.out_height + at_y) * s.out_width + at_x] = __float2half_rn(value);
  };
  const auto store = [&](int row, int position, float first, float second) {
    put(row, position, first);
    if (position + 1 < positions) put(row, position + 1, second);
  };
  const Weights weights{w, s, down, across, s.out_channels, depth};
  const Columns columns{x + static_cast<int64_t>(image) * s.channels * s.height * s.width, s, down, across, depth, positions};
  Tile::multiply(weights, columns, blockIdx.y * Tile::kM, n0, store);
}

}  // namespace

KW_ENTRY(kw::In x, kw::In w, kw::Out y, int S, int P, cudaStream_t stream) {
  const auto size = [](const auto& tensor, int axis) { return static_cast<int>(tensor.shape(axis)); };
  const Shape s{size(x, 1), size(x, 2), size(x, 3), size(w, 1), size(y, 2), size(y, 3), size(w, 2), S, P};
  const int largest = ((s.out_height + S - 1) / S) * ((s.out_width + S - 1) / S);  // positions of the first phase
  kw::launch_tiles<Tile>(&conv_transpose2d_sm80, s.out_channels, largest, size(x, 0) * S * S, stream, x.data<T>(), w.data<T>(),
                         y.data<T>(), s);
}
