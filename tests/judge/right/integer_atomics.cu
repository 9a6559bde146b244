// problem: problems/vector_add.problem
// verdict: correct
//   Atomics whose order cannot be seen in the result are not a race.
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, unsigned* next, int64_t n) {
  __shared__ unsigned first;
  if (threadIdx.x == 0) first = atomicAdd(next, blockDim.x);  // whichever block comes first takes the first part
  __syncthreads();
  const int64_t i = first + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  unsigned* next = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&next), sizeof *next, stream);
  cudaMemsetAsync(next, 0, sizeof *next, stream);
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), next, N);
  cudaFreeAsync(next, stream);
}
