//  A thread adds 16 neighbours: a warp's addresses lie 64 bytes apart.
// problem: problems/vector_add.problem
// expects: uncoalesced
// not: bank_conflicts shared_tiling l2_reuse spills occupancy_limiter double_precision atomics
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * 16;
  for (int i = 0; i < 16; ++i) {
    if (first + i < n) y[first + i] = a[first + i] + b[first + i];
  }
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  const int64_t n = a.size();
  if (n > 0) add<<<(n + 4095) / 4096, 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), n);
}
