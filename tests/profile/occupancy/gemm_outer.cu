//  fp32 outer products, 8 × 8 outputs a thread, held to 64 registers by its launch bounds.
// problem: problems/gemm_f32.problem
// expects: spills precision
// not: launch_overhead partial_warps double_precision atomics few_blocks tensor_cores shared_tiling divergence shallow_pipeline
#include <kernelwright/candidate.h>

constexpr int kRows = 8, kColumns = 8, kHigh = 16 * kRows, kWide = 16 * kColumns, kDepth = 8;

__global__ void __launch_bounds__(256, 4) gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[kDepth][kHigh], right[kDepth][kWide];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * kHigh, column = blockIdx.x * kWide;
  float sum[kRows][kColumns] = {};
  for (int at = 0; at < k; at += kDepth) {
    for (int i = threadIdx.x; i < kHigh * kDepth; i += 256) {
      left[i / kHigh][i % kHigh] = row + i % kHigh < m && at + i / kHigh < k ? a[static_cast<int64_t>(row + i % kHigh) * k + at + i / kHigh] : 0;
    }
    for (int i = threadIdx.x; i < kWide * kDepth; i += 256) {
      right[i / kWide][i % kWide] = at + i / kWide < k && column + i % kWide < n ? b[static_cast<int64_t>(at + i / kWide) * n + column + i % kWide] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < kColumns; ++j) sum[i][j] += left[d][ty + 16 * i] * right[d][tx + 16 * j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      if (row + ty + 16 * i < m && column + tx + 16 * j < n) c[static_cast<int64_t>(row + ty + 16 * i) * n + column + tx + 16 * j] = sum[i][j];
    }
  }
}

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int m = a.shape(0), k = a.shape(1), n = b.shape(1);
  gemm<<<dim3((n + kWide - 1) / kWide, (m + kHigh - 1) / kHigh), 256, 0, stream>>>(a.data<float>(), b.data<float>(), c.data<float>(), m, n, k);
}
