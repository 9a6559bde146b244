// problem: problems/vector_add.problem
// verdict: wrong
// rung: shapes
//   %warpid is a place on the multiprocessor, which the block's warps share with other blocks'.
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  unsigned warp;
  asm("mov.u32 %0, %%warpid;" : "=r"(warp));
  const int64_t i = blockIdx.x * int64_t{256} + warp * 32 + threadIdx.x % 32;
  if (warp < 8 && i < n) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
