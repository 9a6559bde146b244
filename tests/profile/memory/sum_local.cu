//  Partial sums in an array that is indexed at run time: local memory.
// problem: problems/reduction.problem
// workload: rows
// expects: local_array
// followed: local_array followed/sum_in_registers
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores partial_warps double_precision atomics barriers shared_tiling
#include <kernelwright/candidate.h>

__global__ void sum(const float* x, float* y, int64_t n, int parts) {
  __shared__ float share[8];
  float part[16] = {};
  for (int64_t i = threadIdx.x, k = 0; i < n; i += blockDim.x, ++k) part[k & (parts - 1)] += x[blockIdx.x * n + i];
  float total = 0;
  for (int i = 0; i < 16; ++i) total += part[i];
  for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(0xffffffffu, total, offset);
  if (threadIdx.x % 32 == 0) share[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < 8; ++i) total += share[i];
  y[blockIdx.x] = total;
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) sum<<<x.shape(0), 256, 0, stream>>>(x.data<float>(), y.data<float>(), x.shape(1), 16);
}
