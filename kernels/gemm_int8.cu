// C = (A·Wᵀ) · row scale · column scale: int8 in, int32 accumulation, fp16 out, A and W row-major, for sm_80 and later.
// A block of eight warps computes 128×256 of C, a warp 64×64 (kernelwright/gemm_tile.cuh).
#include <kernelwright/candidate.h>
#include <kernelwright/gemm_tile.cuh>

namespace {

using Tile = kw::GemmTile<int8_t, kw::BLayout::kColumns, 128, 256, 64, 64, 4>;

__global__ void __launch_bounds__(Tile::kThreads)
    gemm_int8_sm80(const int8_t* __restrict__ a, const int8_t* __restrict__ w, const float* __restrict__ scale_a,
                   const float* __restrict__ scale_w, __half* __restrict__ c, int m, int n, int k) {
  const auto store = [&](int row, int column, int x, int y) {
    const float by_row = scale_a[row];
    const float2 by_column = *reinterpret_cast<const float2*>(scale_w + column);
    *reinterpret_cast<uint32_t*>(c + static_cast<size_t>(row) * n + column) =
        kw::pack_half2(static_cast<float>(x) * by_row * by_column.x, static_cast<float>(y) * by_row * by_column.y);
  };
  Tile::multiply({a, m, k, k}, {w, n, k, k}, blockIdx.y * Tile::kM, blockIdx.x * Tile::kN, store);
}

}  // namespace

KW_ENTRY(kw::In a, kw::In w, kw::In scale_a, kw::In scale_w, kw::Out c, cudaStream_t stream) {
  const int m = static_cast<int>(a.shape(0)), k = static_cast<int>(a.shape(1)), n = static_cast<int>(w.shape(0));
  kw::launch_tiles<Tile>(&gemm_int8_sm80, m, n, 1, stream, a.data<int8_t>(), w.data<int8_t>(), scale_a.data<float>(),
                         scale_w.data<float>(), c.data<__half>(), m, n, k);
}
