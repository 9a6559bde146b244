//  The column by a 64-bit remainder, then GELU, one element a thread.
// problem: problems/bias_gelu.problem
// expects: integer_division
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores partial_warps double_precision atomics barriers shared_tiling local_array imbalance
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void gelu(const __half* x, const __half* b, __half* y, int64_t n, int64_t all) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= all) return;
  const float v = __half2float(x[i]) + __half2float(b[i % n]);
  const float e = __expf(-1.5957691216f * (v + 0.044715f * v * v * v));
  y[i] = __float2half(__fdividef(v, 1.0f + e));
}

KW_ENTRY(kw::In x, kw::In b, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) gelu<<<(x.size() + 255) / 256, 256, 0, stream>>>(x.data<__half>(), b.data<__half>(), y.data<__half>(), x.shape(1), x.size());
}
