// problem: problems/row_softmax.problem
// verdict: correct
// says: top: max .error. 0,
// says: total: max .error.
//   The pieces of the problem beside its output; a warp a row.
#include <cuda_fp16.h>
#include <kernelwright/candidate.h>

__global__ void softmax(const __half* x, __half* y, float* top, float* total, int n) {
  const size_t row = blockIdx.x;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < n; i += 32) largest = fmaxf(largest, __half2float(x[row * n + i]));
  for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += expf(__half2float(x[row * n + i]) - largest);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) {
    top[row] = largest;
    total[row] = sum;
  }
  for (int i = threadIdx.x; i < n; i += 32) y[row * n + i] = __float2half(expf(__half2float(x[row * n + i]) - largest) / sum);
}

KW_ENTRY(kw::In x, kw::Out total, kw::Out y, kw::Out top, int M, int N, cudaStream_t stream) {
  softmax<<<M, 32, 0, stream>>>(x.data<__half>(), y.data<__half>(), top.data<float>(), total.data<float>(), N);
}
