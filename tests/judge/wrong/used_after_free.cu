// problem: problems/vector_add.problem
// verdict: contract-violation
// rung: record
// says: used after it was freed
//   The workspace is freed between the kernel that writes it and the one that reads it.
#include <kernelwright/candidate.h>

__global__ void copy(const float* a, float* t, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) t[i] = a[i];
}
__global__ void add(const float* t, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = t[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((N + 255) / 256);
  float* t;
  cudaMallocAsync(reinterpret_cast<void**>(&t), N * sizeof(float), stream);
  copy<<<blocks, 256, 0, stream>>>(a.data<float>(), t, N);
  cudaFreeAsync(t, stream);
  add<<<blocks, 256, 0, stream>>>(t, b.data<float>(), y.data<float>(), N);
}
