//  One block for the whole array, a load after another.
// problem: problems/vector_add.problem
// expects: few_blocks loads_in_flight
// followed: few_blocks sound/vector_add
// not: uncoalesced bank_conflicts shared_tiling spills double_precision atomics launch_overhead wave_tail
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
#pragma unroll 1
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    const float left = a[i];
    y[i] = left;
    __threadfence_block();
    y[i] += b[i];
  }
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  if (a.size() > 0) add<<<1, 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), a.size());
}
