//  Small tiles through registers into unpadded shared memory, read by columns; no tensor cores.
// problem: problems/gemm_f16.problem
// expects: tensor_cores bank_conflicts
// followed: bank_conflicts parallelism/gemm_staged_padded
// not: spills atomics launch_overhead few_blocks double_precision precision shallow_pipeline shared_tiling partial_warps local_array
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

constexpr int kTile = 32;

__global__ void gemm(const __half* a, const __half* b, __half* c, int m, int n, int k) {
  __shared__ float left[kTile][kTile], right[kTile][kTile];   // right is kept transposed
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int at = 0; at < k; at += kTile) {
    left[y][x] = row < m && at + x < k ? __half2float(a[static_cast<int64_t>(row) * k + at + x]) : 0;
    right[x][y] = at + y < k && column < n ? __half2float(b[static_cast<int64_t>(at + y) * n + column]) : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[y][i] * right[x][i];
    __syncthreads();
  }
  if (row < m && column < n) c[static_cast<int64_t>(row) * n + column] = __float2half(sum);
}

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int m = a.shape(0), k = a.shape(1), n = b.shape(1);
  gemm<<<dim3((n + kTile - 1) / kTile, (m + kTile - 1) / kTile), dim3(kTile, kTile), 0, stream>>>(a.data<__half>(), b.data<__half>(), c.data<__half>(), m, n, k);
}
