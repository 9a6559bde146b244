//  fp32 tiles of 16 × 16 through registers.
// problem: problems/gemm_f32.problem
// expects: precision
// not: spills atomics launch_overhead few_blocks double_precision tensor_cores shallow_pipeline shared_tiling partial_warps local_array
#include <kernelwright/candidate.h>

constexpr int kTile = 16;

__global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[kTile][kTile], right[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int at = 0; at < k; at += kTile) {
    left[y][x] = row < m && at + x < k ? a[static_cast<int64_t>(row) * k + at + x] : 0;
    right[y][x] = at + y < k && column < n ? b[static_cast<int64_t>(at + y) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  if (row < m && column < n) c[static_cast<int64_t>(row) * n + column] = sum;
}

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int m = a.shape(0), k = a.shape(1), n = b.shape(1);
  gemm<<<dim3((n + kTile - 1) / kTile, (m + kTile - 1) / kTile), dim3(kTile, kTile), 0, stream>>>(a.data<float>(), b.data<float>(), c.data<float>(), m, n, k);
}
