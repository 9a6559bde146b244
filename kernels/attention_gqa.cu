// Causal attention forward with fewer key heads than query heads, bf16 in and out, head dimension 128, for sm_80 and
// later (kernelwright/attention_tile.cuh). The last query stands at the last key, so a prompt may go on after a cache.
// Query heads of a group run next to each other and find its keys and values in L2.
#include <kernelwright/attention_tile.cuh>
#include <kernelwright/candidate.h>

namespace {

constexpr int kD = 128;
using Element = __nv_bfloat16;
using Tile = kw::AttentionTile<Element, kD>;

__global__ void __launch_bounds__(Tile::kThreads)
    attention_gqa_sm80(const Element* __restrict__ q, const Element* __restrict__ k, const Element* __restrict__ v,
                       Element* __restrict__ o, int queries, int keys, int group) {
  // Batches and heads are one axis: head h of q belongs to head h / group of k, whatever the batch.
  const size_t head = static_cast<size_t>(blockIdx.y) * queries * kD;
  const size_t key_head = static_cast<size_t>(blockIdx.y / group) * keys * kD;
  const int first_row = static_cast<int>(gridDim.x - 1 - blockIdx.x) * Tile::kRows;
  constexpr float kScale = 0.08838834764831845f;  // 1/√128
  Tile::forward({q + head, k + key_head, v + key_head, o + head, queries, keys}, first_row, kScale,
                kw::CausalKeys{queries, keys}, kw::ProductScores());
}

}  // namespace

KW_ENTRY(kw::In q, kw::In k, kw::In v, kw::Out o, cudaStream_t stream) {
  const int queries = static_cast<int>(q.shape(2)), keys = static_cast<int>(k.shape(2));
  const int group = static_cast<int>(q.shape(1) / k.shape(1));
  kw::launch_attention<Tile>(&attention_gqa_sm80, queries, q.shape(0) * q.shape(1), stream, q.data<Element>(), k.data<Element>(),
                             v.data<Element>(), o.data<Element>(), queries, keys, group);
}
