//  A launch for each row.
// problem: problems/rms_norm.problem
// expects: launch_overhead
// followed: launch_overhead sound/rms_norm
// not: uncoalesced bank_conflicts spills tensor_cores partial_warps double_precision atomics local_array shared_tiling divergence
#include <kernelwright/candidate.h>
#include <kernelwright/reduce.cuh>
#include <cuda_bf16.h>

__global__ void norm(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, int n, float eps) {
  __shared__ float scratch[8];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum += __bfloat162float(x[i]) * __bfloat162float(x[i]);
  const float scale = rsqrtf(kw::block_reduce<kw::Sum, 256>(sum, scratch) / n + eps);
  for (int i = threadIdx.x; i < n; i += 256) y[i] = __float2bfloat16(__bfloat162float(x[i]) * scale * __bfloat162float(w[i]));
}

KW_ENTRY(kw::In x, kw::In w, kw::Out y, float eps, cudaStream_t stream) {
  const int64_t n = x.shape(1);
  for (int64_t i = 0; i < x.shape(0); ++i) {
    norm<<<1, 256, 0, stream>>>(x.data<__nv_bfloat16>() + i * n, w.data<__nv_bfloat16>(), y.data<__nv_bfloat16>() + i * n, n, eps);
  }
}
