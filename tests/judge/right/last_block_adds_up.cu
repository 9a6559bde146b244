// problem: problems/reduction.problem
// verdict: correct
//   The last block of a row to finish adds up what all have found, in their order, and puts the counter back to zero: a module
//   variable that outlives the call is as it was.
#include <kernelwright/candidate.h>
#include <kernelwright/reduce.cuh>

constexpr int kMostRows = 4096;
__device__ unsigned finished[kMostRows];

__global__ void sum_rows(const float* x, float* parts, float* y, int n) {
  __shared__ float scratch[8];
  __shared__ bool last;
  float sum = 0.0f;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += x[blockIdx.y * int64_t{n} + i];
  sum = kw::block_reduce<kw::Sum, 256>(sum, scratch);
  float* own = parts + blockIdx.y * gridDim.x;
  if (threadIdx.x == 0) {
    own[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(&finished[blockIdx.y], 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  float all = 0.0f;
  for (unsigned i = 0; i < gridDim.x; ++i) all += __ldcg(own + i);
  y[blockIdx.y] = all;
  finished[blockIdx.y] = 0;
}

KW_ENTRY(kw::In x, kw::Out y, int M, int N, cudaStream_t stream) {
  const dim3 grid((N + 4095) / 4096 < 16 ? (N + 4095) / 4096 : 16, M);
  float* parts = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&parts), sizeof(float) * grid.x * grid.y, stream);
  sum_rows<<<grid, 256, 0, stream>>>(x.data<float>(), parts, y.data<float>(), N);
  cudaFreeAsync(parts, stream);
}
