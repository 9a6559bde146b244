// problem: problems/vector_add.problem
// verdict: contract-violation
// rung: contract
// says: side stream
//   Clock: the work lies on a stream that the timer does not wait for. An event of that stream is awaited, but it was
//   recorded before the work.
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  cudaStream_t side;
  cudaEvent_t begun;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
  cudaEventRecord(begun, side);
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, side>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
  cudaStreamWaitEvent(stream, begun, 0);
}
