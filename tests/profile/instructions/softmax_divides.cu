//  A block a row, three passes, a correctly rounded division for every element.
// problem: problems/row_softmax.problem
// expects: exact_division
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores partial_warps double_precision atomics local_array imbalance occupancy_limiter
#include <kernelwright/candidate.h>
#include <kernelwright/reduce.cuh>
#include <cuda_fp16.h>

__global__ void softmax(const __half* x, __half* y, int n) {
  __shared__ float scratch[8];
  x += static_cast<int64_t>(blockIdx.x) * n;
  y += static_cast<int64_t>(blockIdx.x) * n;
  float top = -INFINITY, total = 0;
  for (int i = threadIdx.x; i < n; i += 256) top = fmaxf(top, __half2float(x[i]));
  top = kw::block_reduce<kw::Max, 256>(top, scratch);
  for (int i = threadIdx.x; i < n; i += 256) total += __expf(__half2float(x[i]) - top);
  total = kw::block_reduce<kw::Sum, 256>(total, scratch);
  for (int i = threadIdx.x; i < n; i += 256) y[i] = __float2half(__expf(__half2float(x[i]) - top) / total);
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) softmax<<<x.shape(0), 256, 0, stream>>>(x.data<__half>(), y.data<__half>(), x.shape(1));
}
