//  Running sums of 256 at a time, a barrier twice a step.
// problem: problems/cumsum.problem
// expects: barriers
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores partial_warps double_precision atomics local_array
#include <kernelwright/candidate.h>

__global__ void cumsum(const float* x, float* y, int64_t n) {
  __shared__ float part[256];
  float before = 0;
  for (int64_t first = 0; first < n; first += 256) {
    const int64_t i = first + threadIdx.x;
    part[threadIdx.x] = i < n ? x[blockIdx.x * n + i] : 0;
    for (int step = 1; step < 256; step *= 2) {
      __syncthreads();
      const float left = threadIdx.x >= step ? part[threadIdx.x - step] : 0;
      __syncthreads();
      part[threadIdx.x] += left;
    }
    __syncthreads();
    if (i < n) y[blockIdx.x * n + i] = before + part[threadIdx.x];
    before += part[255];
    __syncthreads();
  }
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) cumsum<<<x.shape(0), 256, 0, stream>>>(x.data<float>(), y.data<float>(), x.shape(1));
}
