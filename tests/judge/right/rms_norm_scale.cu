// problem: problems/rms_norm.problem
// verdict: correct
// says: scale: max .error.
#include <cuda_bf16.h>
#include <kernelwright/candidate.h>

__global__ void rms_norm(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, float* scale, int n, float eps) {
  const size_t row = blockIdx.x;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += __bfloat162float(x[row * n + i]) * __bfloat162float(x[row * n + i]);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const float factor = rsqrtf(sum / n + eps);
  if (threadIdx.x == 0) scale[row] = factor;
  for (int i = threadIdx.x; i < n; i += 32) {
    y[row * n + i] = __float2bfloat16(__bfloat162float(x[row * n + i]) * factor * __bfloat162float(w[i]));
  }
}

KW_ENTRY(kw::In x, kw::In w, kw::Out y, kw::Out scale, int M, int N, float eps, cudaStream_t stream) {
  rms_norm<<<M, 32, 0, stream>>>(x.data<__nv_bfloat16>(), w.data<__nv_bfloat16>(), y.data<__nv_bfloat16>(), scale.data<float>(), N,
                                 eps);
}
