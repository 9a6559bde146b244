//  A launch for each matrix of a batch, a thread an output.
// problem: problems/gemm_batched.problem
// expects: tensor_cores shared_tiling conversions
// followed: tensor_cores followed/gemm_batched
// not: bank_conflicts spills double_precision atomics barriers local_array partial_warps precision async_copy shallow_pipeline
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
  const int64_t m = a.shape(1), k = a.shape(2), n = b.shape(2);
  for (int64_t i = 0; i < a.shape(0); ++i) {
    gemm<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8), 0, stream>>>(a.data<__half>() + i * m * k, b.data<__half>() + i * k * n, c.data<__half>() + i * m * n, m, n, k);
  }
}
