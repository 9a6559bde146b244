//  Tensor cores, but a 16 × 16 tile a block and operands straight from global memory: L2 delivers each byte 256 times.
// problem: problems/gemm_f16.problem
// workload: square
// expects: l2_reuse
// followed: l2_reuse sound/gemm_f16
// not: tensor_cores precision bank_conflicts spills atomics launch_overhead few_blocks double_precision barriers async_copy local_array conversions
#include <kernelwright/candidate.h>
#include <mma.h>

namespace wmma = nvcuda::wmma;

__global__ void gemm(const __half* a, const __half* b, __half* c, int m, int n, int k) {
  const int row = blockIdx.y * 16, column = blockIdx.x * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int at = 0; at < k; at += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
    wmma::load_matrix_sync(left, a + static_cast<int64_t>(row) * k + at, k);
    wmma::load_matrix_sync(right, b + static_cast<int64_t>(at) * n + column, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::fragment<wmma::accumulator, 16, 16, 16, __half> out;
  for (int i = 0; i < out.num_elements; ++i) out.x[i] = __float2half(sum.x[i]);
  wmma::store_matrix_sync(c + static_cast<int64_t>(row) * n + column, out, n, wmma::mem_row_major);
}

__global__ void any(const __half* a, const __half* b, __half* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += __half2float(a[static_cast<int64_t>(row) * k + i]) * __half2float(b[static_cast<int64_t>(i) * n + column]);
  c[static_cast<int64_t>(row) * n + column] = __float2half(sum);
}

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int m = a.shape(0), k = a.shape(1), n = b.shape(1);
  if (m % 16 == 0 && n % 16 == 0 && k % 16 == 0) {
    gemm<<<dim3(n / 16, m / 16), 32, 0, stream>>>(a.data<__half>(), b.data<__half>(), c.data<__half>(), m, n, k);
  } else {
    any<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8), 0, stream>>>(a.data<__half>(), b.data<__half>(), c.data<__half>(), m, n, k);
  }
}
