// Attention forward with an additive bias a head, fp16 in and out, head dimension 64, for sm_80 and later
// (kernelwright/attention_tile.cuh). The bias is read once, by the thread that holds the score.
#include <kernelwright/attention_tile.cuh>
#include <kernelwright/candidate.h>

namespace {

constexpr int kD = 64;
using Tile = kw::AttentionTile<__half, kD>;

struct BiasedScores {
  const __half* bias;  // of one head
  int keys, last_row;
  __device__ float operator()(float product, int row, int key) const {
    return product + __half2float(bias[static_cast<size_t>(min(row, last_row)) * keys + min(key, keys - 1)]);
  }
};

__global__ void __launch_bounds__(Tile::kThreads)
    attention_bias_sm80(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v,
                        const __half* __restrict__ bias, __half* __restrict__ o, int heads, int queries, int keys) {
  const size_t head = static_cast<size_t>(blockIdx.y) * queries * kD, key_head = static_cast<size_t>(blockIdx.y) * keys * kD;
  bias += static_cast<size_t>(blockIdx.y % heads) * queries * keys;
  Tile::forward({q + head, k + key_head, v + key_head, o + head, queries, keys}, blockIdx.x * Tile::kRows, 1.0f,
                kw::AllKeys{keys}, BiasedScores{bias, keys, queries - 1});
}

}  // namespace

KW_ENTRY(kw::In q, kw::In k, kw::In v, kw::In bias, kw::Out o, cudaStream_t stream) {
  const int heads = static_cast<int>(q.shape(1)), queries = static_cast<int>(q.shape(2)), keys = static_cast<int>(k.shape(2));
  kw::launch_attention<Tile>(&attention_bias_sm80, queries, q.shape(0) * heads, stream, q.data<__half>(), k.data<__half>(),
                             v.data<__half>(), bias.data<__half>(), o.data<__half>(), heads, queries, keys);
}
