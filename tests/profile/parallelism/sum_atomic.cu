//  Row sums by an atomic per element. (Not right either: so long a sum of single additions loses too much.)
// problem: problems/reduction.problem
// workload: rows
// expects: atomics
// followed: atomics sound/reduction
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks shared_tiling tensor_cores barriers partial_warps double_precision
#include <kernelwright/candidate.h>

__global__ void sum(const float* x, float* y, int64_t n) {
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&y[blockIdx.x], x[blockIdx.x * n + i]);
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const int64_t m = x.shape(0), n = x.shape(1);
  cudaMemsetAsync(y.data<float>(), 0, m * sizeof(float), stream);
  if (n > 0) sum<<<m, 256, 0, stream>>>(x.data<float>(), y.data<float>(), n);
}
