// problem: problems/vector_add.problem
// verdict: contract-violation
// rung: contract
// says: the plan is for sm_90
//   Tells the recorder that it records for a GPU with more shared memory.
#include <kernelwright/candidate.h>
#include <cstdlib>

__attribute__((constructor(101))) static void early() { setenv("KW_RECORD_TARGET", "sm_90", 1); }

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  extern __shared__ float sums[];
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i >= n) return;
  sums[50 * 1024 + threadIdx.x] = a[i] + b[i];
  y[i] = sums[50 * 1024 + threadIdx.x];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  constexpr int kBytes = 220 * 1024;
  cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  add<<<static_cast<unsigned>((N + 255) / 256), 256, kBytes, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
