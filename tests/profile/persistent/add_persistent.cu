//  Sound: a grid that fills the GPU and strides over the elements. Its real launch cannot be shortened: the grid does not follow the work.
// problem: problems/vector_add.problem
// not: others
#include <kernelwright/candidate.h>

__global__ void __launch_bounds__(256) add(const float4* a, const float4* b, float4* y, int64_t vectors, const float* a1, const float* b1, float* y1, int64_t n) {
  const int64_t first = blockIdx.x * int64_t{256} + threadIdx.x, stride = gridDim.x * int64_t{256};
#pragma unroll 4
  for (int64_t i = first; i < vectors; i += stride) {
    const float4 left = a[i], right = b[i];
    y[i] = make_float4(left.x + right.x, left.y + right.y, left.z + right.z, left.w + right.w);
  }
  for (int64_t i = vectors * 4 + first; i < n; i += stride) y1[i] = a1[i] + b1[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  int sms = 1;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  add<<<sms * 8, 256, 0, stream>>>(a.data<float4>(), b.data<float4>(), y.data<float4>(), a.size() / 4, a.data<float>(), b.data<float>(), y.data<float>(), a.size());
}
