//  A thread per output, operands from global memory, no tensor cores.
// problem: problems/gemm_f16.problem
// expects: tensor_cores shared_tiling
// followed: tensor_cores sound/gemm_f16
// not: bank_conflicts spills atomics launch_overhead few_blocks double_precision precision barriers async_copy shallow_pipeline
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void gemm(const __half* a, const __half* b, __half* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += __half2float(a[static_cast<int64_t>(row) * k + i]) * __half2float(b[static_cast<int64_t>(i) * n + column]);
  c[static_cast<int64_t>(row) * n + column] = __float2half(sum);
}

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int m = a.shape(0), k = a.shape(1), n = b.shape(1);
  gemm<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8), 0, stream>>>(a.data<__half>(), b.data<__half>(), c.data<__half>(), m, n, k);
}
