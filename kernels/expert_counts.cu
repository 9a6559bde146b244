// How often each number below E occurs: each block counts in shared memory and adds its counts to the result. Whole
// numbers, so the order of the atomic additions does not show.
#include <kernelwright/candidate.h>

namespace {

constexpr int kThreads = 256, kMostBins = 1024, kPacks = 4;  // packs of four a thread

__global__ void __launch_bounds__(kThreads) expert_counts(const int* __restrict__ expert, int* __restrict__ count, int64_t n, int bins) {
  __shared__ int counts[kMostBins];
  for (int bin = threadIdx.x; bin < bins; bin += kThreads) counts[bin] = 0;
  __syncthreads();
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads * kPacks + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int64_t at = (first + i * kThreads) * 4;
    if (at + 4 <= n) {
      const int4 four = *reinterpret_cast<const int4*>(expert + at);
      atomicAdd(&counts[four.x], 1);
      atomicAdd(&counts[four.y], 1);
      atomicAdd(&counts[four.z], 1);
      atomicAdd(&counts[four.w], 1);
    } else {
      for (int64_t last = at; last < n; ++last) atomicAdd(&counts[expert[last]], 1);
    }
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < bins; bin += kThreads) {
    if (counts[bin] != 0) atomicAdd(&count[bin], counts[bin]);
  }
}

}  // namespace

KW_ENTRY(kw::In expert, kw::Out count, cudaStream_t stream) {
  constexpr int kPiece = kThreads * kPacks * 4;
  cudaMemsetAsync(count.data<int>(), 0, count.size() * sizeof(int), stream);
  expert_counts<<<static_cast<unsigned>((expert.size() + kPiece - 1) / kPiece), kThreads, 0, stream>>>(
      expert.data<int>(), count.data<int>(), expert.size(), static_cast<int>(count.size()));
}
