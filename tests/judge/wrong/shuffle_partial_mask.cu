// problem: problems/reduction.problem
// verdict: wrong
// rung: shapes
//   Lanes that the mask names but that have left do not answer; lanes that stay add what was never there.
#include <kernelwright/candidate.h>

__global__ void sum_rows(const float* x, float* y, int n) {
  float sum = 0.0f;
  const int lane = threadIdx.x;
  for (int i = lane; i < n; i += 32) sum += x[static_cast<int64_t>(blockIdx.x) * n + i];
  for (int offset = 16; offset > 0; offset /= 2) {
    if (lane < 16) sum += __shfl_down_sync(0x0000ffffu, sum, offset);  // the upper half never takes part
  }
  if (lane == 0) y[blockIdx.x] = sum;
}

KW_ENTRY(kw::In x, kw::Out y, int M, int N, cudaStream_t stream) {
  sum_rows<<<M, 32, 0, stream>>>(x.data<float>(), y.data<float>(), N);
}
