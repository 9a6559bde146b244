//  Sums over the middle axis by an atomic per element. (Not right either: the order of the additions shows.)
// problem: problems/sum_middle_axis.problem
// expects: atomics
// followed: atomics followed/sum_middle_axis
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores partial_warps double_precision barriers shared_tiling local_array
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void sum(const __half* x, float* y, int s, int d) {
  const int64_t row = blockIdx.x, batch = row / s;
  for (int i = threadIdx.x; i < d; i += blockDim.x) atomicAdd(&y[batch * d + i], __half2float(x[row * d + i]));
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  cudaMemsetAsync(y.data<float>(), 0, y.size() * sizeof(float), stream);
  if (x.size() > 0) sum<<<x.shape(0) * x.shape(1), 256, 0, stream>>>(x.data<__half>(), y.data<float>(), x.shape(1), x.shape(2));
}
