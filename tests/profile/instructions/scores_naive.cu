//  Attention scores by a thread each: every product is two conversions.
// problem: problems/attention_scores.problem
// expects: tensor_cores shared_tiling
// not: bank_conflicts spills launch_overhead few_blocks double_precision atomics barriers local_array partial_warps precision async_copy
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void scores(const __half* q, const __half* k, __half* y, int s, int t, int d) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= s || column >= t) return;
  const __half* a = q + (static_cast<int64_t>(blockIdx.z) * s + row) * d;
  const __half* b = k + (static_cast<int64_t>(blockIdx.z) * t + column) * d;
  float sum = 0;
  for (int i = 0; i < d; ++i) sum += __half2float(a[i]) * __half2float(b[i]);
  y[(static_cast<int64_t>(blockIdx.z) * s + row) * t + column] = __float2half(sum * rsqrtf(static_cast<float>(d)));
}

KW_ENTRY(kw::In q, kw::In k, kw::Out scores, cudaStream_t stream) {
  const int s = q.shape(2), t = k.shape(2), d = q.shape(3);
  ::scores<<<dim3((t + 31) / 32, (s + 7) / 8, q.shape(0) * q.shape(1)), dim3(32, 8), 0, stream>>>(q.data<__half>(), k.data<__half>(), scores.data<__half>(), s, t, d);
}
