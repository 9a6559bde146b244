// problem: problems/vector_add.problem
// verdict: unsafe
// rung: smallest
// says: misaligned
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  extern __shared__ char memory[];
  float* tile = reinterpret_cast<float*>(memory + 2);  // carved after a two-byte header
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i >= n) return;
  tile[threadIdx.x] = a[i];
  y[i] = tile[threadIdx.x] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 2048, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
