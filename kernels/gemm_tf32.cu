// C = A·Wᵀ, fp32 in and out, tf32 products with fp32 accumulation, A and W row-major, for sm_80 and later.
// A block of eight warps computes 128×256 of C, a warp 64×64 (kernelwright/gemm_tile.cuh); operands are rounded to tf32
// as they leave shared memory.
#include <kernelwright/candidate.h>
#include <kernelwright/gemm_tile.cuh>

namespace {

using Tile = kw::GemmTile<float, kw::BLayout::kColumns, 128, 256, 64, 64, 4>;

__global__ void __launch_bounds__(Tile::kThreads) gemm_tf32_sm80(const float* __restrict__ a, const float* __restrict__ w,
                                                                 float* __restrict__ c, int m, int n, int k) {
  const auto store = [&](int row, int column, float x, float y) {
    *reinterpret_cast<float2*>(c + static_cast<size_t>(row) * n + column) = make_float2(x, y);
  };
  Tile::multiply({a, m, k, k}, {w, n, k, k}, blockIdx.y * Tile::kM, blockIdx.x * Tile::kN, store);
}

}  // namespace

KW_ENTRY(kw::In a, kw::In w, kw::Out c, cudaStream_t stream) {
  const int m = static_cast<int>(a.shape(0)), k = static_cast<int>(a.shape(1)), n = static_cast<int>(w.shape(0));
  kw::launch_tiles<Tile>(&gemm_tf32_sm80, m, n, 1, stream, a.data<float>(), w.data<float>(), c.data<float>(), m, n, k);
}
