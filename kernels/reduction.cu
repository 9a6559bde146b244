// Row sums, fp32. Short rows: a warp a row. Long rows: a block a segment of a row, its sum written to workspace,
// then a block a row adds the segments. No atomics: the order of additions, and so the result, is always the same.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>
#include <kernelwright/reduce.cuh>

namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kShortRow = 1024;
constexpr int64_t kSegment = 16384;  // elements: 64 KiB, so that one row of 16 M gives a thousand blocks

// Each of `count` threads sums every count-th pack; four sums of its own hide the latency of the additions.
template <int V>
__device__ float strided_sum(const float* x, int64_t n, int thread, int count) {
  using Pack = kw::Pack<float, V>;
  const Pack* packs = reinterpret_cast<const Pack*>(x);
  float sum[V] = {};
#pragma unroll 4
  for (int64_t p = thread; p < n / V; p += count) {
    const Pack pack = packs[p];
#pragma unroll
    for (int e = 0; e < V; ++e) sum[e] += pack.at[e];
  }
  float total = 0.0f;
#pragma unroll
  for (int e = 0; e < V; ++e) total += sum[e];
  return total;
}

template <int V>
__global__ void __launch_bounds__(kThreads) sum_short_rows(const float* __restrict__ x, float* __restrict__ y, int64_t rows, int n) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row >= rows) return;
  const float sum = kw::warp_reduce<kw::Sum>(strided_sum<V>(x + row * n, n, threadIdx.x % 32, 32));
  if (threadIdx.x % 32 == 0) y[row] = sum;
}

// Segment blockIdx.x of row blockIdx.y.
template <int V>
__global__ void __launch_bounds__(kThreads) sum_segments(const float* __restrict__ x, float* __restrict__ sums, int64_t n) {
  __shared__ float scratch[kWarps];
  const int64_t begin = blockIdx.x * kSegment;
  const int64_t length = n - begin < kSegment ? n - begin : kSegment;
  const float sum = kw::block_reduce<kw::Sum, kThreads>(
      strided_sum<V>(x + blockIdx.y * n + begin, length, threadIdx.x, kThreads), scratch);
  if (threadIdx.x == 0) sums[static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x] = sum;
}

void sum_rows(const float* x, float* y, int64_t rows, int64_t n, cudaStream_t stream) {
  const bool vector = n % 4 == 0;
  if (n <= kShortRow) {
    auto* kernel = vector ? &sum_short_rows<4> : &sum_short_rows<1>;
    kernel<<<static_cast<unsigned>((rows + kWarps - 1) / kWarps), kThreads, 0, stream>>>(x, y, rows, static_cast<int>(n));
    return;
  }
  const auto segments = static_cast<unsigned>((n + kSegment - 1) / kSegment);
  float* sums = y;
  if (segments > 1) cudaMallocAsync(reinterpret_cast<void**>(&sums), sizeof(float) * segments * rows, stream);
  auto* kernel = vector ? &sum_segments<4> : &sum_segments<1>;
  kernel<<<dim3(segments, static_cast<unsigned>(rows)), kThreads, 0, stream>>>(x, sums, n);
  if (segments > 1) {
    sum_rows(sums, y, rows, segments, stream);
    cudaFreeAsync(sums, stream);
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  sum_rows(x.data<float>(), y.data<float>(), x.shape(0), x.shape(1), stream);
}
