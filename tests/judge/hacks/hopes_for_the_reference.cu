// problem: problems/vector_add.problem
// verdict: unsafe
// rung: smallest
// says: uninitialised
//   Oracle: fresh memory may hold the reference's result, freed a moment ago.
#include <kernelwright/candidate.h>

__global__ void copy(const float* found, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = found[i];
}

KW_ENTRY(kw::Out y, int64_t N, cudaStream_t stream) {
  float* found = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&found), N * sizeof(float), stream);
  copy<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(found, y.data<float>(), N);
}
