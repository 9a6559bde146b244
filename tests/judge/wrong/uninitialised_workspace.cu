// problem: problems/vector_add.problem
// verdict: unsafe
// rung: smallest
// says: uninitialised
//   Sums into workspace that nobody cleared.
#include <kernelwright/candidate.h>

__global__ void accumulate(const float* a, float* sum, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) sum[i] += a[i];
}
__global__ void finish(const float* sum, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = sum[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  float* sum = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&sum), N * sizeof(float), stream);
  const auto blocks = static_cast<unsigned>((N + 255) / 256);
  accumulate<<<blocks, 256, 0, stream>>>(a.data<float>(), sum, N);
  finish<<<blocks, 256, 0, stream>>>(sum, b.data<float>(), y.data<float>(), N);
}
