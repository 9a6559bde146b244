//  A row per block, 2 bytes a thread at a time.
// problem: problems/embedding.problem
// expects: vector_width
// followed: vector_width followed/embedding
// not: uncoalesced bank_conflicts shared_tiling l2_reuse local_array spills launch_overhead few_blocks divergence atomics barriers imbalance
#include <kernelwright/candidate.h>
#include <cuda_bf16.h>

__global__ void take(const __nv_bfloat16* table, const int64_t* token, __nv_bfloat16* y, int d) {
  const __nv_bfloat16* from = table + token[blockIdx.x] * d;
  for (int i = threadIdx.x; i < d; i += blockDim.x) y[static_cast<int64_t>(blockIdx.x) * d + i] = from[i];
}

KW_ENTRY(kw::In table, kw::In token, kw::Out y, cudaStream_t stream) {
  take<<<token.size(), 256, 0, stream>>>(table.data<__nv_bfloat16>(), token.data<int64_t>(), y.data<__nv_bfloat16>(), table.shape(1));
}
