// problem: problems/reduction.problem
// verdict: nondeterministic
// rung: schedules
// says: elements differ
//   Each block's sum is exact enough; the order in which they are added is whoever comes first.
#include <kernelwright/candidate.h>
#include <kernelwright/reduce.cuh>

__global__ void sum_rows(const float* x, float* y, int n) {
  __shared__ float scratch[8];
  float sum = 0.0f;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += x[blockIdx.y * int64_t{n} + i];
  sum = kw::block_reduce<kw::Sum, 256>(sum, scratch);
  if (threadIdx.x == 0) atomicAdd(y + blockIdx.y, sum);
}

KW_ENTRY(kw::In x, kw::Out y, int M, int N, cudaStream_t stream) {
  cudaMemsetAsync(y.data<float>(), 0, M * sizeof(float), stream);
  sum_rows<<<dim3((N + 1023) / 1024, M), 256, 0, stream>>>(x.data<float>(), y.data<float>(), N);
}
