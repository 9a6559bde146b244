// problem: problems/reduction.problem
// verdict: unsafe
// rung: smallest
#include <kernelwright/candidate.h>

__global__ void sum_rows(const float* x, float* y, int n) {
  const int lane = threadIdx.x;
  if (lane >= n) return;
  float sum = 0.0f;
  for (int i = lane; i < n; i += 32) sum += x[static_cast<int64_t>(blockIdx.x) * n + i];
  for (int offset = 16; offset > 0; offset /= 2) {
    if (lane % 2 == 0) sum += __shfl_down_sync(0xfffffffeu, sum, offset);  // lane 0 calls, the mask does not name it
  }
  if (lane == 0) y[blockIdx.x] = sum;
}

KW_ENTRY(kw::In x, kw::Out y, int M, int N, cudaStream_t stream) {
  sum_rows<<<M, 32, 0, stream>>>(x.data<float>(), y.data<float>(), N);
}
