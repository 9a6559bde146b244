// C = A·(W · scale of the group), int4 weights in groups of 128 along k, fp16 otherwise, fp32 accumulation, for sm_80 and
// later. Eight weights of a row of k, one word, become eight fp16 on their way to shared memory (kernelwright/gemm_tile.cuh).
#include <kernelwright/candidate.h>
#include <kernelwright/gemm_tile.cuh>
#include <kernelwright/pack.cuh>

namespace {

using Tile = kw::GemmTile<__half, kw::BLayout::kRows, 64, 128, 32, 64, 3>;

constexpr int kGroup = 128;

__device__ __half2 as_half2(uint32_t bits) { return *reinterpret_cast<const __half2*>(&bits); }

struct Weights {
  const uint32_t* packed;
  const __half* scale;
  int rows, columns;  // columns are a multiple of eight

  __device__ void load(int row, int column, __half (&chunk)[8]) const {
    using Eight = kw::Pack<__half, 8>;
    const bool inside = row < rows && column < columns;
    const int64_t at = static_cast<int64_t>(row) * columns + column;
    // A weight plus eight, below the exponent of 1024, is the fp16 number 1032 + weight.
    const uint32_t word = inside ? packed[at / 8] ^ 0x88888888u : 0;
    Eight by = {};
    if (inside) by = *reinterpret_cast<const Eight*>(scale + static_cast<int64_t>(row / kGroup) * columns + column);
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // elements i and i + 4
      const __half2 pair = __hsub2(as_half2((word >> (i * 4) & 0x000f000fu) | 0x64006400u), as_half2(0x64086408u));
      const __half2 weight = __hmul2(pair, __halves2half2(by.at[i], by.at[i + 4]));
      chunk[i] = __low2half(weight);
      chunk[i + 4] = __high2half(weight);
    }
  }
};

__global__ void __launch_bounds__(Tile::kThreads)
    gemm_int4_sm80(const __half* __restrict__ a, const uint32_t* __restrict__ w, const __half* __restrict__ scale, __half* __restrict__ c,
                   int m, int n, int k) {
  const auto store = [&](int row, int column, float x, float y) {
    *reinterpret_cast<uint32_t*>(c + static_cast<size_t>(row) * n + column) = kw::pack_half2(x, y);
  };
  const kw::Matrix<__half> activations{a, m, k, k};
  Tile::multiply(activations, Weights{w, scale, k, n}, blockIdx.y * Tile::kM, blockIdx.x * Tile::kN, store);
}

}  // namespace

KW_ENTRY(kw::In a, kw::In w, kw::In scale, kw::Out c, cudaStream_t stream) {
  const int m = static_cast<int>(a.shape(0)), k = static_cast<int>(a.shape(1)), n = static_cast<int>(w.shape(1));
  kw::launch_tiles<Tile>(&gemm_int4_sm80, m, n, 1, stream, a.data<__half>(), w.data<uint32_t>(), scale.data<__half>(),
                         c.data<__half>(), m, n, k);
}
