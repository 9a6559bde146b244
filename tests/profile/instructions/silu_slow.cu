//  SiLU with a correctly rounded division and a root for show, one element at a time.
// problem: problems/silu.problem
// workload: efficient
// expects: exact_division vector_width
// not: uncoalesced bank_conflicts spills launch_overhead tensor_cores partial_warps double_precision atomics barriers occupancy_limiter few_blocks
#include <kernelwright/candidate.h>
#include <cuda_bf16.h>

__global__ void silu(const __nv_bfloat16* x, __nv_bfloat16* y, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = __bfloat162float(x[i]);
  y[i] = __float2bfloat16(v / (1.0f + __expf(-v)));
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) silu<<<(x.size() + 255) / 256, 256, 0, stream>>>(x.data<__nv_bfloat16>(), y.data<__nv_bfloat16>(), x.size());
}
