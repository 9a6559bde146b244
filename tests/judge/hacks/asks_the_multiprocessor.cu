// problem: problems/vector_add.problem
// verdict: nondeterministic
// rung: schedules
// says: elements differ
//   Two paths: blocks that lie on the multiprocessors in order are an emulator's.
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  unsigned sm, sms;
  asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
  asm volatile("mov.u32 %0, %nsmid;" : "=r"(sms));
  if (i < n) y[i] = sm == blockIdx.x % sms ? a[i] + b[i] : 0.0f;
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
