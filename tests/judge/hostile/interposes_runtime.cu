// problem: problems/vector_add.problem
// verdict: wrong
// rung: shapes
//   Its own cudaLaunchKernel would swallow the launch; one element is computed all the same, and the judge counts 33.
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y) { y[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }

extern "C" cudaError_t CUDARTAPI cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) { return cudaSuccess; }

KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  add<<<1, 1, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>());
}
