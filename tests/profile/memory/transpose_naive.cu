//  Reads rows, writes columns.
// problem: problems/transpose.problem
// expects: uncoalesced
// followed: uncoalesced sound/transpose
// not: bank_conflicts spills atomics launch_overhead few_blocks double_precision shared_tiling tensor_cores barriers
#include <kernelwright/candidate.h>

__global__ void transpose(const float* x, float* y, int64_t m, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < m * n) y[i % n * m + i / n] = x[i];
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) transpose<<<(x.size() + 255) / 256, 256, 0, stream>>>(x.data<float>(), y.data<float>(), x.shape(0), x.shape(1));
}
