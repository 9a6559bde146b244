// problem: problems/vector_add.problem
// verdict: wrong
// rung: smallest
// says: an element never written is NaN
//   Clock: a thread launches the work after the entry has returned. What is not launched by then is not in the plan.
#include <kernelwright/candidate.h>
#include <unistd.h>

#include <thread>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  std::thread([=] {
    sleep(60);
    add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
  }).detach();
}
