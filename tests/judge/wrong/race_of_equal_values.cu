// problem: problems/vector_add.problem
// verdict: unsafe
// rung: smallest
// says: race
// says: The numbers were right all the same
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  __shared__ float factors[7];
  factors[n % 7] = 1.0f;  // by every thread of every warp; read at an index that the compiler cannot see through
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = factors[(n + 7) % 7] * (a[i] + b[i]);
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
