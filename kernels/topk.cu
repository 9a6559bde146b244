// The K largest of each row and their places, fp32, K up to 1024: a block a row. An element's key is 64 bits: above, its
// value in an order that integers compare rightly; below, the complement of its place, so that no two keys are equal.
// Eight bits at a time from the top, a histogram tells in which bin the K-th largest key lies, until a bin ends exactly
// there; what is not below it is gathered and sorted in shared memory.
#include <kernelwright/candidate.h>

namespace {

constexpr int kThreads = 256, kBins = 256, kMost = 1024;
static_assert(kThreads == kBins, "a thread a bin");

__device__ uint64_t key_of(float value, int place) {
  const uint32_t bits = __float_as_uint(value + 0.0f);  // -0 becomes 0, its equal
  const uint32_t order = value != value ? 0xffffffffu : bits >> 31 ? ~bits : bits | 0x80000000u;
  return static_cast<uint64_t>(order) << 32 | ~static_cast<uint32_t>(place);
}

// The sum over this thread's bin and those above it.
__device__ int sum_from_above(int count, int* scratch) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int above = __shfl_down_sync(0xffffffffu, count, distance);
    if (lane + distance < 32) count += above;
  }
  if (lane == 0) scratch[warp] = count;
  __syncthreads();
  for (int other = warp + 1; other < kThreads / 32; ++other) count += scratch[other];
  return count;
}

__global__ void __launch_bounds__(kThreads)
    topk(const float* __restrict__ x, float* __restrict__ value, int* __restrict__ index, int n, int k) {
  __shared__ uint64_t best[kMost];
  __shared__ int count[kBins], scratch[kThreads / 32], chosen_bin, wanted, found;
  __shared__ bool whole;
  const int thread = threadIdx.x;
  x += static_cast<size_t>(blockIdx.x) * n;
  uint64_t least = 0, known = 0;  // the bits of the K-th largest key that are known, and which these are
  int left = k;                   // keys wanted among those that agree with them
  for (int shift = 56; shift >= 0; shift -= 8) {
    count[thread] = 0;
    __syncthreads();
    for (int i = thread; i < n; i += kThreads) {
      const uint64_t key = key_of(x[i], i);
      if ((key & known) == least) atomicAdd(&count[key >> shift & 255], 1);
    }
    __syncthreads();
    const int own = count[thread], from_here = sum_from_above(own, scratch);
    if (from_here >= left && from_here - own < left) {
      chosen_bin = thread;
      wanted = left - (from_here - own);
      whole = from_here == left;
    }
    __syncthreads();
    least |= static_cast<uint64_t>(chosen_bin) << shift;
    known |= 255ull << shift;
    left = wanted;
    if (whole) break;
    __syncthreads();
  }

  int size = 1;  // of the sort
  while (size < k) size *= 2;
  for (int i = thread; i < size; i += kThreads) best[i] = 0;
  if (thread == 0) found = 0;
  __syncthreads();
  for (int i = thread; i < n; i += kThreads) {
    const uint64_t key = key_of(x[i], i);
    if ((key & known) >= least) best[atomicAdd(&found, 1)] = key;
  }
  __syncthreads();
  for (int run = 2; run <= size; run *= 2)
    for (int distance = run / 2; distance > 0; distance /= 2) {
      for (int pair = thread; pair < size / 2; pair += kThreads) {
        const int i = pair + pair / distance * distance, other = i + distance;
        const uint64_t one = best[i], two = best[other];
        const bool descending = (i & run) == 0;
        if ((one < two) == descending) {
          best[i] = two;
          best[other] = one;
        }
      }
      __syncthreads();
    }
  for (int i = thread; i < k; i += kThreads) {
    const uint32_t place = ~static_cast<uint32_t>(best[i]);
    value[static_cast<size_t>(blockIdx.x) * k + i] = x[place];
    index[static_cast<size_t>(blockIdx.x) * k + i] = static_cast<int>(place);
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out value, kw::Out index, cudaStream_t stream) {
  const int n = static_cast<int>(x.shape(1)), k = static_cast<int>(value.shape(1));
  topk<<<static_cast<unsigned>(x.shape(0)), kThreads, 0, stream>>>(x.data<float>(), value.data<float>(), index.data<int>(), n, k);
}
