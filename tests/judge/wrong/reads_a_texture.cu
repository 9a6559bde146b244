// problem: problems/vector_add.problem
// verdict: not-checked
// rung: smallest
// says: does not support 'tex
// says: Nothing is claimed
//   Neither right nor wrong: the emulator has no textures, and says so.
#include <kernelwright/candidate.h>

__global__ void add(cudaTextureObject_t a, const float* b, float* y, int64_t n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = tex1Dfetch<float>(a, i) + b[i];
}

KW_ENTRY(kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(0, b.data<float>(), y.data<float>(), N);
}
