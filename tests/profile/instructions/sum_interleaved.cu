//  Tree sums whose active threads lie 2, 4, 8 … apart: split warps, and banks hit again and again; a barrier a step.
// problem: problems/reduction.problem
// workload: rows
// expects: barriers divergence
// not: uncoalesced spills launch_overhead few_blocks shared_tiling tensor_cores partial_warps double_precision atomics
#include <kernelwright/candidate.h>

__global__ void sum(const float* x, float* y, int64_t n) {
  __shared__ float part[512];
  float total = 0;
  for (int64_t first = 0; first < n; first += 512) {
    const int64_t i = first + threadIdx.x;
    part[threadIdx.x] = i < n ? x[blockIdx.x * n + i] : 0;
    for (int step = 1; step < 512; step *= 2) {
      __syncthreads();
      if (threadIdx.x % (2 * step) == 0) part[threadIdx.x] += part[threadIdx.x + step];
    }
    __syncthreads();
    if (threadIdx.x == 0) total += part[0];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) sum<<<x.shape(0), 512, 0, stream>>>(x.data<float>(), y.data<float>(), x.shape(1));
}
