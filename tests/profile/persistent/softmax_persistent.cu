//  Sound but for its exact division: blocks that fill the GPU take rows in turn, and fetch the next one by asynchronous copies while they compute.
// problem: problems/row_softmax.problem
// workload: scores
// not: uncoalesced bank_conflicts few_blocks wave_tail shared_tiling launch_overhead spills imbalance
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <kernelwright/candidate.h>

namespace {

constexpr int kThreads = 256, kPacks = 2, kColumns = kThreads * kPacks * 8;   // of a row, at the most

__device__ float across(float mine, float* shared, bool largest) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(~0u, mine, offset);
    mine = largest ? fmaxf(mine, other) : mine + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = shared[0];
#pragma unroll
  for (int warp = 1; warp < kThreads / 32; ++warp) mine = largest ? fmaxf(mine, shared[warp]) : mine + shared[warp];
  return mine;
}

__device__ void fetch(uint4* to, const __half* row, int packs) {
  for (int i = threadIdx.x; i < packs; i += kThreads) __pipeline_memcpy_async(to + i, reinterpret_cast<const uint4*>(row) + i, 16);
  __pipeline_commit();
}

__global__ void __launch_bounds__(kThreads) softmax_held(const __half* __restrict__ x, __half* __restrict__ y, int64_t rows, int columns) {
  __shared__ uint4 rows_held[2][kThreads * kPacks];
  __shared__ float shared[kThreads / 32];
  const int packs = columns / 8;
  if (blockIdx.x < rows) fetch(rows_held[0], x + blockIdx.x * static_cast<int64_t>(columns), packs);
  int stage = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x, stage ^= 1) {
    if (row + gridDim.x < rows) fetch(rows_held[stage ^ 1], x + (row + gridDim.x) * columns, packs);
    else __pipeline_commit();
    __pipeline_wait_prior(1);
    float held[kPacks][8], top = -INFINITY, sum = 0;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = threadIdx.x + p * kThreads;
      const uint4 pack = i < packs ? rows_held[stage][i] : uint4{0xfc00fc00u, 0xfc00fc00u, 0xfc00fc00u, 0xfc00fc00u};
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        held[p][e] = __half2float(reinterpret_cast<const __half*>(&pack)[e]);
        top = fmaxf(top, held[p][e]);
      }
    }
    top = across(top, shared, true);
#pragma unroll
    for (int p = 0; p < kPacks; ++p)
#pragma unroll
      for (int e = 0; e < 8; ++e) sum += held[p][e] = __expf(held[p][e] - top);
    sum = across(sum, shared, false);
    const float scale = 1 / sum;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = threadIdx.x + p * kThreads;
      uint4 pack;
#pragma unroll
      for (int e = 0; e < 8; ++e) reinterpret_cast<__half*>(&pack)[e] = __float2half(held[p][e] * scale);
      if (i < packs) reinterpret_cast<uint4*>(y + row * columns)[i] = pack;
    }
  }
}

// Any row: three passes over it.
__global__ void __launch_bounds__(kThreads) softmax_any(const __half* __restrict__ x, __half* __restrict__ y, int columns) {
  __shared__ float shared[kThreads / 32];
  x += blockIdx.x * static_cast<int64_t>(columns);
  y += blockIdx.x * static_cast<int64_t>(columns);
  float top = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < columns; i += kThreads) top = fmaxf(top, __half2float(x[i]));
  top = across(top, shared, true);
  for (int i = threadIdx.x; i < columns; i += kThreads) sum += __expf(__half2float(x[i]) - top);
  sum = across(sum, shared, false);
  for (int i = threadIdx.x; i < columns; i += kThreads) y[i] = __float2half(__expf(__half2float(x[i]) - top) / sum);
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const int64_t rows = x.shape(0), columns = x.shape(1);
  int sms = 1;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  if (columns % 8 == 0 && columns <= kColumns) {
    softmax_held<<<static_cast<unsigned>(min(rows, int64_t{sms} * 4)), kThreads, 0, stream>>>(x.data<__half>(), y.data<__half>(), rows, static_cast<int>(columns));
  } else {
    softmax_any<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(x.data<__half>(), y.data<__half>(), static_cast<int>(columns));
  }
}
