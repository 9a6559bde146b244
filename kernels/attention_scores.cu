// Scaled attention scores Q·Kᵀ/√D, fp16 in and out, fp32 accumulation, for sm_80 and later.
// A block of four warps computes 128×128 scores of one head, a warp 64×64 (kernelwright/gemm_tile.cuh); D is so small
// that the product is bound by writing the scores.
#include <kernelwright/candidate.h>
#include <kernelwright/gemm_tile.cuh>

#include <cmath>

namespace {

using Tile = kw::GemmTile<__half, kw::BLayout::kColumns, 128, 128, 64, 64, 3>;

__global__ void __launch_bounds__(Tile::kThreads, 2)
    attention_scores_sm80(const __half* __restrict__ q, const __half* __restrict__ k, __half* __restrict__ scores, int queries,
                          int keys, int depth, float scale) {
  const size_t head = blockIdx.z;
  q += head * queries * depth;
  k += head * keys * depth;
  scores += head * queries * keys;
  const auto store = [&](int row, int column, float x, float y) {
    __half* out = scores + static_cast<size_t>(row) * keys + column;
    if (keys % 2 == 0) {
      *reinterpret_cast<uint32_t*>(out) = kw::pack_half2(x * scale, y * scale);
    } else {
      out[0] = __float2half_rn(x * scale);
      if (column + 1 < keys) out[1] = __float2half_rn(y * scale);
    }
  };
  Tile::multiply({q, queries, depth, depth}, {k, keys, depth, depth}, blockIdx.y * Tile::kM, blockIdx.x * Tile::kN, store);
}

}  // namespace

KW_ENTRY(kw::In q, kw::In k, kw::Out scores, cudaStream_t stream) {
  const int heads = static_cast<int>(q.shape(0) * q.shape(1)), queries = static_cast<int>(q.shape(2));
  const int keys = static_cast<int>(k.shape(2)), depth = static_cast<int>(q.shape(3));
  const float scale = 1.0f / std::sqrt(static_cast<float>(depth));
  kw::launch_tiles<Tile>(&attention_scores_sm80, queries, keys, heads, stream, q.data<__half>(), k.data<__half>(),
                         scores.data<__half>(), queries, keys, depth, scale);
}
