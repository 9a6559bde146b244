//  GELU in fp64 by 109 blocks that each fill an SM.
// problem: problems/bias_gelu.problem
// expects: wave_tail double_precision
// not: uncoalesced bank_conflicts few_blocks launch_overhead spills atomics barriers shared_tiling tensor_cores partial_warps
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void gelu(const __half* x, const __half* b, __half* y, int m, int n) {
  extern __shared__ float scratch[];
  if (n < 0) scratch[threadIdx.x] = 0;
  for (int row = blockIdx.x; row < m; row += gridDim.x) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
      const double v = __half2float(x[static_cast<int64_t>(row) * n + i]) + __half2float(b[i]);
      y[static_cast<int64_t>(row) * n + i] = __float2half(static_cast<float>(0.5 * v * (1.0 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)))));
    }
  }
}

KW_ENTRY(kw::In x, kw::In b, kw::Out y, cudaStream_t stream) {
  cudaFuncSetAttribute(gelu, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024);
  if (x.size() > 0) gelu<<<109, 1024, 100 * 1024, stream>>>(x.data<__half>(), b.data<__half>(), y.data<__half>(), x.shape(0), x.shape(1));
}
