// The K best of up to 256 experts, best first, the earlier of equals, and the softmax of their scores: a warp a token.
// Each lane holds every 32nd expert; each round the warp agrees on the best that is left and its owner strikes it out.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>
#include <kernelwright/reduce.cuh>

namespace {

using T = __nv_bfloat16;
constexpr int kThreads = 128, kWarps = kThreads / 32;

// kEach: experts of a lane; 32 * kEach is at least the number of experts. K is at most 32: one place a lane.
template <int kEach>
__global__ void __launch_bounds__(kThreads) topk_routing(const T* __restrict__ x, float* __restrict__ weight, int* __restrict__ expert,
                                                         int64_t tokens, int experts, int k) {
  const int64_t token = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (token >= tokens) return;
  const int lane = threadIdx.x % 32;
  float score[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int e = i * 32 + lane;
    score[i] = e < experts ? kw::to_float(x[token * experts + e]) : -INFINITY;
  }

  float mine = -INFINITY;  // the score and the expert of place `lane`
  int chosen = 0;
  for (int place = 0; place < k; ++place) {
    float best = score[0];
#pragma unroll
    for (int i = 1; i < kEach; ++i) best = fmaxf(best, score[i]);
    best = kw::warp_reduce<kw::Max>(best);
    int first = 32 * kEach;  // the earliest expert with that score
#pragma unroll
    for (int i = kEach - 1; i >= 0; --i) first = score[i] == best ? i * 32 + lane : first;
    first = __reduce_min_sync(0xffffffffu, first);
#pragma unroll
    for (int i = 0; i < kEach; ++i) score[i] = i * 32 + lane == first ? -INFINITY : score[i];
    if (lane == place) mine = best, chosen = first;
  }
  const float top = __shfl_sync(0xffffffffu, mine, 0);
  const float e = __expf(mine - top);  // 0 beyond the k places
  const float sum = kw::warp_reduce<kw::Sum>(e);
  if (lane >= k) return;
  weight[token * k + lane] = e / sum;
  expert[token * k + lane] = chosen;
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out weight, kw::Out expert, cudaStream_t stream) {
  const int64_t tokens = x.shape(0);
  const int experts = static_cast<int>(x.shape(1)), k = static_cast<int>(weight.shape(1));
  auto* kernel = experts <= 32 ? &topk_routing<1> : experts <= 64 ? &topk_routing<2> : experts <= 128 ? &topk_routing<4> : &topk_routing<8>;
  kernel<<<static_cast<unsigned>((tokens + kWarps - 1) / kWarps), kThreads, 0, stream>>>(x.data<T>(), weight.data<float>(),
                                                                                        expert.data<int>(), tokens, experts, k);
}
