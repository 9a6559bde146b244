//  80 KiB of shared memory a block that nothing needs: two blocks an SM.
// problem: problems/vector_add.problem
// expects: occupancy_limiter
// followed: occupancy_limiter followed/add_frugal
// not: uncoalesced bank_conflicts shared_tiling l2_reuse local_array register_pressure spills partial_warps launch_overhead few_blocks wave_tail double_precision
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  extern __shared__ float scratch[];
  if (n < 0) scratch[threadIdx.x] = 0;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 80 * 1024);
  if (a.size() > 0) add<<<(a.size() + 255) / 256, 256, 80 * 1024, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), a.size());
}
