//  A block a row of which one warp does the exponentials alone.
// problem: problems/row_softmax.problem
// expects: imbalance
// followed: imbalance sound/row_softmax
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores partial_warps double_precision atomics local_array barriers
#include <kernelwright/candidate.h>
#include <kernelwright/reduce.cuh>
#include <cuda_fp16.h>

__global__ void softmax(const __half* x, __half* y, int n) {
  __shared__ float scratch[8], both[1];
  x += static_cast<int64_t>(blockIdx.x) * n;
  y += static_cast<int64_t>(blockIdx.x) * n;
  float top = -INFINITY, total = 0;
  for (int i = threadIdx.x; i < n; i += 256) top = fmaxf(top, __half2float(x[i]));
  top = kw::block_reduce<kw::Max, 256>(top, scratch);
  if (threadIdx.x < 32) {
    for (int i = threadIdx.x; i < n; i += 32) total += __expf(__half2float(x[i]) - top);
    for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(0xffffffffu, total, offset);
    if (threadIdx.x == 0) both[0] = 1.0f / total;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256) y[i] = __float2half(__expf(__half2float(x[i]) - top) * both[0]);
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (x.size() > 0) softmax<<<x.shape(0), 256, 0, stream>>>(x.data<__half>(), y.data<__half>(), x.shape(1));
}
