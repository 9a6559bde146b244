//  A thread per output, operands from global memory, in fp32.
// problem: problems/gemm_f32.problem
// expects: shared_tiling precision
// not: uncoalesced bank_conflicts spills atomics launch_overhead few_blocks double_precision tensor_cores barriers async_copy shallow_pipeline local_array conversions
#include <kernelwright/candidate.h>

__global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[static_cast<int64_t>(row) * k + i] * b[static_cast<int64_t>(i) * n + column];
  c[static_cast<int64_t>(row) * n + column] = sum;
}

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int m = a.shape(0), k = a.shape(1), n = b.shape(1);
  gemm<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8), 0, stream>>>(a.data<float>(), b.data<float>(), c.data<float>(), m, n, k);
}
