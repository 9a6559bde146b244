// The outputs of a token's experts back together: Y[t] = Σ weight[t, i] · X[slot[t, i]]; bf16 in and out, fp32 inside. A
// block a token and 2048 columns; a thread 16 bytes of each row.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

constexpr int kThreads = 256, kEach = 8;
using Row = kw::Pack<__nv_bfloat16, kEach>;

__global__ void __launch_bounds__(kThreads)
    combine(const Row* __restrict__ x, const int32_t* __restrict__ slot, const float* __restrict__ weight, Row* __restrict__ y,
            int experts, int packs) {
  const int pack = blockIdx.y * kThreads + threadIdx.x;
  if (pack >= packs) return;
  const int64_t token = blockIdx.x;
  float sum[kEach] = {};
#pragma unroll 4
  for (int i = 0; i < experts; ++i) {
    const Row row = x[slot[token * experts + i] * static_cast<int64_t>(packs) + pack];
    const float factor = weight[token * experts + i];
#pragma unroll
    for (int e = 0; e < kEach; ++e) sum[e] = fmaf(factor, kw::to_float(row.at[e]), sum[e]);
  }
  Row out;
#pragma unroll
  for (int e = 0; e < kEach; ++e) out.at[e] = kw::from_float<__nv_bfloat16>(sum[e]);
  y[token * packs + pack] = out;
}

}  // namespace

KW_ENTRY(kw::In x, kw::In slot, kw::In weight, kw::Out y, cudaStream_t stream) {
  const int tokens = static_cast<int>(slot.shape(0)), experts = static_cast<int>(slot.shape(1));
  const int packs = static_cast<int>(x.shape(1) / kEach);
  const dim3 grid(tokens, (packs + kThreads - 1) / kThreads);
  combine<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const Row*>(x.data<__nv_bfloat16>()), slot.data<int32_t>(),
                                         weight.data<float>(), reinterpret_cast<Row*>(y.data<__nv_bfloat16>()), experts, packs);
}
