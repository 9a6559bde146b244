//  Even and odd threads compute tanh by different ways.
// problem: problems/bias_gelu.problem
// expects: divergence
// followed: divergence followed/gelu_one_way
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores partial_warps double_precision atomics barriers shared_tiling local_array
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void gelu(const __half* x, const __half* b, __half* y, int64_t n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float v = __half2float(x[blockIdx.x * n + i]) + __half2float(b[i]);
    const float u = 0.7978845608f * (v + 0.044715f * v * v * v);
    float t;
    if (threadIdx.x % 2 == 0) {
      t = tanhf(u);
    } else {
      const float e = expf(-2.0f * fabsf(u));
      t = copysignf((1.0f - e) / (1.0f + e), u);
    }
    y[blockIdx.x * n + i] = __float2half(0.5f * v * (1.0f + t));
  }
}

KW_ENTRY(kw::In x, kw::In b, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) gelu<<<x.shape(0), 256, 0, stream>>>(x.data<__half>(), b.data<__half>(), y.data<__half>(), x.shape(1));
}
