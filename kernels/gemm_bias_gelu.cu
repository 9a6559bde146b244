// C = gelu(A·Wᵀ + bias), bf16 in and out, fp32 accumulation, A and W row-major, for sm_80 and later.
// A block of eight warps computes 128×256 of C, a warp 64×64 (kernelwright/gemm_tile.cuh); bias and activation are
// applied to the accumulators before they are rounded once.
#include <kernelwright/candidate.h>
#include <kernelwright/gemm_tile.cuh>
#include <kernelwright/pack.cuh>

namespace {

using Element = __nv_bfloat16;
using Tile = kw::GemmTile<Element, kw::BLayout::kColumns, 128, 256, 64, 64, 4>;

__device__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

__global__ void __launch_bounds__(Tile::kThreads)
    gemm_bias_gelu_sm80(const Element* __restrict__ a, const Element* __restrict__ w, const Element* __restrict__ bias,
                        Element* __restrict__ c, int m, int n, int k) {
  const auto store = [&](int row, int column, float x, float y) {
    const auto shift = *reinterpret_cast<const kw::Pack<Element, 2>*>(bias + column);
    x = gelu(x + kw::to_float(shift.at[0]));
    y = gelu(y + kw::to_float(shift.at[1]));
    *reinterpret_cast<uint32_t*>(c + static_cast<size_t>(row) * n + column) = kw::pack_pair<Element>(x, y);
  };
  Tile::multiply({a, m, k, k}, {w, n, k, k}, blockIdx.y * Tile::kM, blockIdx.x * Tile::kN, store);
}

}  // namespace

KW_ENTRY(kw::In a, kw::In w, kw::In bias, kw::Out c, cudaStream_t stream) {
  const int m = static_cast<int>(a.shape(0)), k = static_cast<int>(a.shape(1)), n = static_cast<int>(w.shape(0));
  kw::launch_tiles<Tile>(&gemm_bias_gelu_sm80, m, n, 1, stream, a.data<Element>(), w.data<Element>(), bias.data<Element>(),
                         c.data<Element>(), m, n, k);
}
