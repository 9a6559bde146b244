// The largest element of each row and the first place of it, fp16: a block a row. Value and place travel as one 64-bit
// key: above, the bits of the value in an order that integers compare rightly; below, the complement of the place.
#include <kernelwright/candidate.h>
#include <kernelwright/row.cuh>

namespace {

constexpr int V = 8;

__device__ uint64_t key_of(__half value, int place) {
  const float x = kw::to_float(value) + 0.0f;  // -0 becomes 0, its equal
  const uint32_t bits = __float_as_uint(x);
  const uint32_t order = x != x ? 0xffffffffu : bits >> 31 ? ~bits : bits | 0x80000000u;
  return static_cast<uint64_t>(order) << 32 | ~static_cast<uint32_t>(place);
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads) max_with_index(const __half* __restrict__ x, __half* __restrict__ value,
                                                           int64_t* __restrict__ index, int n) {
  __shared__ uint64_t scratch[32];
  x += static_cast<size_t>(blockIdx.x) * n;
  const kw::Row<__half, V> row(x, n);
  uint64_t best = 0;
  if (const int single = row.single(threadIdx.x); single >= 0) best = key_of(x[single], single);
  for (int p = threadIdx.x; p < row.packs; p += kThreads) {
    const auto pack = reinterpret_cast<const kw::Pack<__half, V>*>(x + row.head)[p];
#pragma unroll
    for (int e = 0; e < V; ++e) best = max(best, key_of(pack.at[e], row.head + p * V + e));
  }
  const auto warp_best = [](uint64_t key) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) key = max(key, __shfl_xor_sync(0xffffffffu, key, distance));
    return key;
  };
  best = warp_best(best);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  best = warp_best(threadIdx.x < kThreads / 32 ? scratch[threadIdx.x] : 0);
  if (threadIdx.x == 0) {
    const uint32_t place = ~static_cast<uint32_t>(best);
    value[blockIdx.x] = x[place];
    index[blockIdx.x] = place;
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out value, kw::Out index, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(x.shape(0));
  const int n = static_cast<int>(x.shape(1));
  if (n <= 2048) {
    max_with_index<128><<<rows, 128, 0, stream>>>(x.data<__half>(), value.data<__half>(), index.data<int64_t>(), n);
  } else {
    max_with_index<1024><<<rows, 1024, 0, stream>>>(x.data<__half>(), value.data<__half>(), index.data<int64_t>(), n);
  }
}
