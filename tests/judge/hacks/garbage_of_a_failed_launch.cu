// problem: problems/row_softmax.problem
// verdict: contract-violation
// rung: record
// says: shared
//   Oracle: 256 bytes of shared memory over the limit, an error that nobody reads, and a plausible output from elsewhere.
#include <cuda_fp16.h>
#include <kernelwright/candidate.h>

__global__ void uniform(__half* y, int n) {
  for (int i = threadIdx.x; i < n; i += 256) y[blockIdx.x * static_cast<size_t>(n) + i] = __float2half(1.0f / n);
}
__global__ void never(const __half* x, __half* y, int n) {
  extern __shared__ float row[];
  row[threadIdx.x] = __half2float(x[threadIdx.x]);
  y[threadIdx.x] = __float2half(row[threadIdx.x] / n);
}

KW_ENTRY(kw::In x, kw::Out y, int M, int N, cudaStream_t stream) {
  uniform<<<M, 256, 0, stream>>>(y.data<__half>(), N);
  never<<<M, 256, 166912 + 256, stream>>>(x.data<__half>(), y.data<__half>(), N);
  (void)cudaGetLastError();
}
