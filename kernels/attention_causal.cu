// Causal attention forward, bf16 in and out, head dimension 64, for sm_80 and later (kernelwright/attention_tile.cuh).
// Blocks with the most keys, those of the last queries, are started first.
#include <kernelwright/attention_tile.cuh>
#include <kernelwright/candidate.h>

namespace {

constexpr int kD = 64;
using Element = __nv_bfloat16;
using Tile = kw::AttentionTile<Element, kD>;

__global__ void __launch_bounds__(Tile::kThreads)
    attention_causal_sm80(const Element* __restrict__ q, const Element* __restrict__ k, const Element* __restrict__ v,
                          Element* __restrict__ o, int length) {
  const size_t head = static_cast<size_t>(blockIdx.y) * length * kD;
  const int first_row = static_cast<int>(gridDim.x - 1 - blockIdx.x) * Tile::kRows;
  Tile::forward({q + head, k + head, v + head, o + head, length, length}, first_row, 0.125f, kw::CausalKeys{length, length},
                kw::ProductScores());
}

}  // namespace

KW_ENTRY(kw::In q, kw::In k, kw::In v, kw::Out o, cudaStream_t stream) {
  const int length = static_cast<int>(q.shape(2));
  kw::launch_attention<Tile>(&attention_causal_sm80, length, q.shape(0) * q.shape(1), stream, q.data<Element>(),
                             k.data<Element>(), v.data<Element>(), o.data<Element>(), length);
}
