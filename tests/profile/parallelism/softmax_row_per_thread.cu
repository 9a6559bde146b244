//  A thread per row, three passes, division and exponent as they come: a warp's addresses lie a row apart.
// problem: problems/row_softmax.problem
// expects: uncoalesced few_blocks
// followed: uncoalesced sound/row_softmax
// not: bank_conflicts spills launch_overhead tensor_cores partial_warps double_precision atomics barriers occupancy_limiter
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void softmax(const __half* x, __half* y, int m, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m) return;
  const __half* in = x + static_cast<int64_t>(row) * n;
  float top = -INFINITY, total = 0;
  for (int i = 0; i < n; ++i) top = fmaxf(top, __half2float(in[i]));
  for (int i = 0; i < n; ++i) total += expf(__half2float(in[i]) - top);
  for (int i = 0; i < n; ++i) y[static_cast<int64_t>(row) * n + i] = __float2half(expf(__half2float(in[i]) - top) / total);
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) softmax<<<(x.shape(0) + 255) / 256, 256, 0, stream>>>(x.data<__half>(), y.data<__half>(), x.shape(0), x.shape(1));
}
