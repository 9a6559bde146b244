//  One bf16 a thread.
// problem: problems/geglu.problem
// expects: vector_width
// followed: vector_width followed/geglu
// not: uncoalesced bank_conflicts shared_tiling l2_reuse local_array spills launch_overhead few_blocks divergence atomics barriers imbalance double_precision
#include <kernelwright/candidate.h>
#include <cuda_bf16.h>

__global__ void geglu(const __nv_bfloat16* gate, const __nv_bfloat16* up, __nv_bfloat16* y, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float g = __bfloat162float(gate[i]);
  const float e = __expf(-1.5957691216f * (g + 0.044715f * g * g * g));
  y[i] = __float2bfloat16(__fdividef(g, 1.0f + e) * __bfloat162float(up[i]));
}

KW_ENTRY(kw::In gate, kw::In up, kw::Out y, cudaStream_t stream) {
  if (y.size() > 0) geglu<<<(y.size() + 255) / 256, 256, 0, stream>>>(gate.data<__nv_bfloat16>(), up.data<__nv_bfloat16>(), y.data<__nv_bfloat16>(), y.size());
}
