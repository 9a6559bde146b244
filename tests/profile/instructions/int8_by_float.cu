//  Integer products in floating point: two conversions for each. Exact, for sums below 2^24; longer ones are cut.
// problem: problems/gemm_int8.problem
// expects: conversions tensor_cores
// not: bank_conflicts spills launch_overhead few_blocks double_precision atomics barriers local_array partial_warps precision async_copy
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void gemm(const signed char* a, const signed char* w, const float* scale_a, const float* scale_w, __half* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  int sum = 0;
  for (int at = 0; at < k; at += 16) {
    const int4 left = *reinterpret_cast<const int4*>(a + static_cast<int64_t>(row) * k + at);
    const int4 right = *reinterpret_cast<const int4*>(w + static_cast<int64_t>(column) * k + at);
    const char4* l = reinterpret_cast<const char4*>(&left);
    const char4* r = reinterpret_cast<const char4*>(&right);
    float part = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      part += static_cast<float>(l[i].x) * static_cast<float>(r[i].x) + static_cast<float>(l[i].y) * static_cast<float>(r[i].y) +
              static_cast<float>(l[i].z) * static_cast<float>(r[i].z) + static_cast<float>(l[i].w) * static_cast<float>(r[i].w);
    }
    sum += static_cast<int>(part);
  }
  c[static_cast<int64_t>(row) * n + column] = __float2half(static_cast<float>(sum) * scale_a[row] * scale_w[column]);
}

KW_ENTRY(kw::In a, kw::In w, kw::In scale_a, kw::In scale_w, kw::Out c, cudaStream_t stream) {
  const int m = a.shape(0), k = a.shape(1), n = w.shape(0);
  gemm<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8), 0, stream>>>(a.data<signed char>(), w.data<signed char>(), scale_a.data<float>(), scale_w.data<float>(),
                                                                  c.data<__half>(), m, n, k);
}
