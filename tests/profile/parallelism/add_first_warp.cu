//  The first warp of a block adds all of its elements, load by load.
// problem: problems/vector_add.problem
// expects: imbalance
// followed: imbalance followed/add_every_warp
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores partial_warps double_precision atomics barriers shared_tiling
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * 8192, end = first + 8192 < n ? first + 8192 : n;
  if (threadIdx.x >= 32) return;
#pragma unroll 1
  for (int64_t i = first + threadIdx.x; i < end; i += 32) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  if (a.size() > 0) add<<<(a.size() + 8191) / 8192, 1024, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), a.size());
}
