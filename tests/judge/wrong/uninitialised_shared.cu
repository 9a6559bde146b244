// problem: problems/reduction.problem
// verdict: unsafe
// rung: smallest
// says: uninitialised
// says: uninitialised_shared\.cu:1[2-7]
//   Threads beyond the row leave their slot as it was, and the sum reads it: zero on most machines, most days.
#include <kernelwright/candidate.h>

__global__ void sum_rows(const float* x, float* y, int n) {
  __shared__ float part[64];
  for (int i = threadIdx.x; i < n; i += 64) part[threadIdx.x] = i < 64 ? x[blockIdx.x * int64_t{n} + i] : part[threadIdx.x] + x[blockIdx.x * int64_t{n} + i];
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

KW_ENTRY(kw::In x, kw::Out y, int M, int N, cudaStream_t stream) {
  sum_rows<<<M, 64, 0, stream>>>(x.data<float>(), y.data<float>(), N);
}
