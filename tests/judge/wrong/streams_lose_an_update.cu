// problem: problems/vector_add.problem
// verdict: unsafe
// rung: smallest
// says: neither waits for the other
//   Two streams add to the same elements. Either order gives the right sum; both at once lose one of the terms.
#include <kernelwright/candidate.h>

__global__ void add_to(const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] += x[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((N + 255) / 256);
  cudaStream_t side;
  cudaEvent_t begin, end;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaMemsetAsync(y.data<float>(), 0, N * sizeof(float), stream);
  cudaEventRecord(begin, stream);
  cudaStreamWaitEvent(side, begin, 0);
  add_to<<<blocks, 256, 0, stream>>>(a.data<float>(), y.data<float>(), N);
  add_to<<<blocks, 256, 0, side>>>(b.data<float>(), y.data<float>(), N);
  cudaEventRecord(end, side);
  cudaStreamWaitEvent(stream, end, 0);
}
