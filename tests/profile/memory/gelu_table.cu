//  A cubic spline of the error function whose coefficients are chosen from an array of the thread's own.
// problem: problems/bias_gelu.problem
// expects: local_array
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores partial_warps double_precision atomics barriers shared_tiling
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void gelu(const __half* x, const __half* b, __half* y, int64_t n) {
  float taps[8];
  for (int k = 0; k < 8; ++k) taps[k] = 0.5f + 0.0f * static_cast<float>(k + threadIdx.x);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float v = __half2float(x[blockIdx.x * n + i]) + __half2float(b[i]);
    const float half = taps[static_cast<int>(fabsf(v)) & 7];
    y[blockIdx.x * n + i] = __float2half(half * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))));
  }
}

KW_ENTRY(kw::In x, kw::In b, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) gelu<<<x.shape(0), 256, 0, stream>>>(x.data<__half>(), b.data<__half>(), y.data<__half>(), x.shape(1));
}
