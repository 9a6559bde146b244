//  GELU in fp64, one half at a time, in blocks of 33 threads.
// problem: problems/gelu.problem
// expects: double_precision partial_warps
// followed: double_precision sound/gelu
// not: uncoalesced bank_conflicts shared_tiling spills atomics launch_overhead few_blocks tensor_cores
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void gelu(const __half* x, __half* y, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double v = __half2float(x[i]);
  y[i] = __float2half(0.5 * v * (1.0 + erf(v * 0.70710678118654752)));
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) gelu<<<(x.size() + 32) / 33, 33, 0, stream>>>(x.data<__half>(), y.data<__half>(), x.size());
}
