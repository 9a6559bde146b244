// problem: problems/vector_add.problem
// verdict: nondeterministic
// rung: schedules
// says: elements differ
//   Two paths: a clock that has only just begun is an emulator's.
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  if (i < n) y[i] = now < 1ull << 50 ? a[i] + b[i] : 0.0f;
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
