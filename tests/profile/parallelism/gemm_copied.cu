//  Tiles by asynchronous copies, each awaited before it is used and before the next is asked for.
// problem: problems/gemm_f32.problem
// expects: shallow_pipeline precision
// not: spills launch_overhead few_blocks double_precision atomics local_array partial_warps tensor_cores async_copy shared_tiling divergence
#include <kernelwright/candidate.h>
#include <cuda_pipeline.h>

constexpr int kTile = 32, kDepth = 8;

__global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[kTile][kDepth + 4], right[kDepth][kTile + 4];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  const int thread = y * 32 + x, part = thread % 2 * 4, line = thread / 2, right_part = thread % 8 * 4, right_line = thread / 8;
  float sum[4] = {};
  for (int at = 0; at < k; at += kDepth) {
    const bool has_left = row + line < m && at + part < k, has_right = at + right_line < k && column + right_part < n;
    if (thread < 64) {
      __pipeline_memcpy_async(&left[line][part], has_left ? a + static_cast<int64_t>(row + line) * k + at + part : a, 16, has_left ? 0 : 16);
      __pipeline_memcpy_async(&right[right_line][right_part], has_right ? b + static_cast<int64_t>(at + right_line) * n + column + right_part : b, 16,
                              has_right ? 0 : 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int d = 0; d < kDepth; ++d) {
      for (int i = 0; i < 4; ++i) sum[i] += left[y + 8 * i][d] * right[d][x];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    if (row + y + 8 * i < m && column + x < n) c[static_cast<int64_t>(row + y + 8 * i) * n + column + x] = sum[i];
  }
}

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int m = a.shape(0), k = a.shape(1), n = b.shape(1);
  gemm<<<dim3((n + kTile - 1) / kTile, (m + kTile - 1) / kTile), dim3(32, 8), 0, stream>>>(a.data<float>(), b.data<float>(), c.data<float>(), m, n, k);
}
