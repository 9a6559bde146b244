//  Every element adds one to global memory.
// problem: problems/histogram.problem
// expects: atomics
// followed: atomics sound/histogram
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks shared_tiling tensor_cores barriers partial_warps
#include <kernelwright/candidate.h>

__global__ void histogram(const float* x, int* count, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n || !(x[i] >= -4.0f && x[i] <= 4.0f)) return;
  atomicAdd(&count[min(__float2int_rd(x[i] * 16.0f) + 64, 127)], 1);
}

KW_ENTRY(kw::In x, kw::Out count, cudaStream_t stream) {
  cudaMemsetAsync(count.data<int>(), 0, 128 * sizeof(int), stream);
  histogram<<<(x.size() + 255) / 256, 256, 0, stream>>>(x.data<float>(), count.data<int>(), x.size());
}
