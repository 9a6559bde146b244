// problem: problems/vector_add.problem
// verdict: unsafe
// rung: smallest
// kernel-deadline: 3
//   Waits for a flag that only a later block sets, and there is one block.
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, volatile int* flag, int64_t n) {
  while (*flag == 0) {
  }
  if (threadIdx.x < n) y[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  int* flag = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&flag), sizeof *flag, stream);
  cudaMemsetAsync(flag, 0, sizeof *flag, stream);
  add<<<1, 32, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), flag, N);
}
