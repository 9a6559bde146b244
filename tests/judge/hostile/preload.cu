// problem: problems/vector_add.problem
// verdict: correct
//   Sets LD_PRELOAD and starts others: whatever happens inside the jail stays there.
#include <kernelwright/candidate.h>
#include <unistd.h>

#include <cstdlib>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  setenv("LD_PRELOAD", "/nowhere/evil.so", 1);
  (void)!std::system("/bin/true; echo CORRECT: forged");
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
