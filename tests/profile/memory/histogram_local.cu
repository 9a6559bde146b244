//  Every thread counts in an array of its own, which is indexed at run time, and adds it up at the end.
// problem: problems/histogram.problem
// expects: local_array
// not: bank_conflicts spills tensor_cores partial_warps double_precision barriers precision launch_overhead
#include <kernelwright/candidate.h>

__global__ void histogram(const float* x, int* count, int64_t n) {
  __shared__ int counts[128];
  if (threadIdx.x < 128) counts[threadIdx.x] = 0;
  __syncthreads();
  unsigned char own[128] = {};
  const int64_t first = static_cast<int64_t>(blockIdx.x) * 16384 + threadIdx.x;
  for (int64_t i = first; i < first + 16384 && i < n; i += 256) {
    const float v = x[i];
    if (v >= -4.0f && v <= 4.0f) ++own[min(__float2int_rd(v * 16.0f) + 64, 127)];
  }
  for (int i = 0; i < 128; ++i) {
    const int bin = (i + threadIdx.x) & 127;
    if (own[bin] != 0) atomicAdd(&counts[bin], own[bin]);
  }
  __syncthreads();
  if (threadIdx.x < 128 && counts[threadIdx.x] != 0) atomicAdd(&count[threadIdx.x], counts[threadIdx.x]);
}

KW_ENTRY(kw::In x, kw::Out count, cudaStream_t stream) {
  cudaMemsetAsync(count.data<int>(), 0, 128 * sizeof(int), stream);
  histogram<<<(x.size() + 16383) / 16384, 256, 0, stream>>>(x.data<float>(), count.data<int>(), x.size());
}
