//  The first warp of a block sums alone, load by load; the others wait at the barrier.
// problem: problems/reduction.problem
// workload: rows
// expects: imbalance loads_in_flight
// followed: imbalance sound/reduction
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores partial_warps double_precision atomics barriers
#include <kernelwright/candidate.h>

__global__ void sum(const float* x, float* y, int64_t n) {
  float total = 0;
  if (threadIdx.x < 32) {
#pragma unroll 1
    for (int64_t i = threadIdx.x; i < n; i += 32) total += x[blockIdx.x * n + i];
    for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(0xffffffffu, total, offset);
  }
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) sum<<<x.shape(0), 256, 0, stream>>>(x.data<float>(), y.data<float>(), x.shape(1));
}
