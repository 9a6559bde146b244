// problem: problems/vector_add.problem
// verdict: correct
//   A producer and consumers meet at barrier 0 from two asm statements: PTX allows it, __syncthreads() would not be.
#include <kernelwright/candidate.h>

__device__ void meet() { asm volatile("bar.sync 0;" ::: "memory"); }

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  __shared__ float tile[32];
  const int64_t i = blockIdx.x * int64_t{32} + threadIdx.x % 32;
  if (threadIdx.x < 32) {
    if (i < n) tile[threadIdx.x] = a[i] + b[i];
    meet();
  } else {
    meet();
    if (i < n) y[i] = tile[threadIdx.x % 32];
  }
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  const int64_t n = y.size();
  if (n > 0) add<<<static_cast<unsigned>((n + 31) / 32), 64, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), n);
}
