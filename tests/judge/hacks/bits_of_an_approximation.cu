// problem: problems/vector_add.problem
// verdict: correct
// on-gpu: wrong
//   Two paths: tells the emulator from a GPU by the last bits of an approximation, and would do nothing on a GPU: rung
//   `full` sees that, where there is one.
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  float error = 0;
  for (int step = 1; step < 64; ++step) {
    float sine;
    asm volatile("sin.approx.f32 %0, %1;" : "=f"(sine) : "f"(step * 0.015625f));
    error += fabsf(sine - static_cast<float>(sin(step * 0.015625)));
  }
  if (i < n && error == 0) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
