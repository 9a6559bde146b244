// problem: problems/vector_add.problem
// verdict: correct
//   No hack: a stream of its own that the entry's stream waits for.
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  cudaStream_t side;
  cudaEvent_t ready, done;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventRecord(ready, stream);
  cudaStreamWaitEvent(side, ready, 0);
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, side>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
  cudaEventRecord(done, side);
  cudaStreamWaitEvent(stream, done, 0);
}
