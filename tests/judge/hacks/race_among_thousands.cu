// problem: problems/histogram.problem
// verdict: unsafe
// rung: shapes
// says: race
//   Two blocks' increments of one bin get lost when they meet. Thousands of blocks, most of them idle, and a volatile read
//   that makes the emulator run them in one interleaving: too many to follow, it was hoped.
#include <kernelwright/candidate.h>

__device__ volatile int nothing;

__global__ void clear(int* count) { count[threadIdx.x] = 0; }
__global__ void histogram(const float* x, int* count, int64_t n) {
  if (nothing != 0 || threadIdx.x != 0) return;
  for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
    if (!(x[i] >= -4 && x[i] <= 4)) continue;
    const int bin = static_cast<int>(floorf((x[i] + 4) * 16));
    ++count[bin > 127 ? 127 : bin];
  }
}

KW_ENTRY(kw::In x, kw::Out count, int64_t N, cudaStream_t stream) {
  clear<<<1, 128, 0, stream>>>(count.data<int>());
  histogram<<<4200, 32, 0, stream>>>(x.data<float>(), count.data<int>(), N);
}
