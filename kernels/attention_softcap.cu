// Causal attention forward with capped scores, cap·tanh(score / cap), bf16 in and out, head dimension 128, for sm_80 and
// later (kernelwright/attention_tile.cuh).
#include <kernelwright/attention_tile.cuh>
#include <kernelwright/candidate.h>

namespace {

constexpr int kD = 128;
using Element = __nv_bfloat16;
using Tile = kw::AttentionTile<Element, kD>;

// Scores over the cap; the scale of the softmax is the cap.
struct CappedScores {
  float scale_over_cap;
  __device__ float operator()(float product, int, int) const {
    // tanh x = 1 - 2 / (exp 2x + 1); right at both ends, where exp is 0 or infinite.
    const float e = exp2f(product * scale_over_cap * (2.0f * kw::kLog2e));
    return 1.0f - __fdividef(2.0f, e + 1.0f);
  }
};

__global__ void __launch_bounds__(Tile::kThreads)
    attention_softcap_sm80(const Element* __restrict__ q, const Element* __restrict__ k, const Element* __restrict__ v,
                           Element* __restrict__ o, int length, int group, float cap) {
  const size_t head = static_cast<size_t>(blockIdx.y) * length * kD;
  const size_t key_head = static_cast<size_t>(blockIdx.y / group) * length * kD;
  const int first_row = static_cast<int>(gridDim.x - 1 - blockIdx.x) * Tile::kRows;
  constexpr float kScale = 0.08838834764831845f;  // 1/√128
  Tile::forward({q + head, k + key_head, v + key_head, o + head, length, length}, first_row, cap,
                kw::CausalKeys{length, length}, CappedScores{kScale / cap});
}

}  // namespace

KW_ENTRY(kw::In q, kw::In k, kw::In v, kw::Out o, float cap, cudaStream_t stream) {
  const int length = static_cast<int>(q.shape(2)), group = static_cast<int>(q.shape(1) / k.shape(1));
  kw::launch_attention<Tile>(&attention_softcap_sm80, length, q.shape(0) * q.shape(1), stream, q.data<Element>(),
                             k.data<Element>(), v.data<Element>(), o.data<Element>(), length, group, cap);
}
