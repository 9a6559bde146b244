// Sums over the middle axis, fp16 to fp32. A warp reads 32 neighbouring packs of a row, the eight warps of a block take
// rows in turn. Long sums: a block a segment of the rows, its sums written to workspace and added by the same kernel. No
// atomics: the order of additions, and so the result, is always the same.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

constexpr int kWarps = 8;
constexpr int64_t kSegment = 256;  // rows

// Columns from blockIdx.x * 32 * V, segment blockIdx.y, matrix blockIdx.z: y[matrix, segment, column].
template <typename T, int V>
__global__ void __launch_bounds__(32 * kWarps) sum_rows(const T* __restrict__ x, float* __restrict__ y, int64_t rows, int columns) {
  using Pack = kw::Pack<T, V>;
  __shared__ float sums[kWarps][32 * V];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = (blockIdx.x * 32 + lane) * V;
  const int64_t begin = blockIdx.y * kSegment, end = min(rows, begin + kSegment);
  x += blockIdx.z * rows * columns + column;

  float sum[V] = {};
  if (column < columns) {
#pragma unroll 4
    for (int64_t row = begin + warp; row < end; row += kWarps) {
      const Pack pack = *reinterpret_cast<const Pack*>(x + row * columns);
#pragma unroll
      for (int e = 0; e < V; ++e) sum[e] += kw::to_float(pack.at[e]);
    }
  }
#pragma unroll
  for (int e = 0; e < V; ++e) sums[warp][e * 32 + lane] = sum[e];  // neighbouring lanes, neighbouring banks
  __syncthreads();
  y += (static_cast<int64_t>(blockIdx.z) * gridDim.y + blockIdx.y) * columns;
  for (int i = threadIdx.x; i < 32 * V; i += 32 * kWarps) {
    const int to = blockIdx.x * 32 * V + i;
    if (to >= columns) continue;
    float total = 0.0f;
#pragma unroll
    for (int from = 0; from < kWarps; ++from) total += sums[from][i % V * 32 + i / V];
    y[to] = total;
  }
}

template <typename T>
void sum(const T* x, float* y, int64_t matrices, int64_t rows, int columns, cudaStream_t stream) {
  constexpr int kVector = 16 / sizeof(T);
  const int64_t segments = (rows + kSegment - 1) / kSegment;
  float* sums = y;
  if (segments > 1) cudaMallocAsync(reinterpret_cast<void**>(&sums), sizeof(float) * matrices * segments * columns, stream);
  const int vector = columns % kVector == 0 ? kVector : 1;
  const dim3 grid((columns + 32 * vector - 1) / (32 * vector), static_cast<unsigned>(segments), static_cast<unsigned>(matrices));
  auto* kernel = vector == 1 ? &sum_rows<T, 1> : &sum_rows<T, kVector>;
  kernel<<<grid, 32 * kWarps, 0, stream>>>(x, sums, rows, columns);
  if (segments > 1) {
    sum(sums, y, matrices, segments, columns, stream);
    cudaFreeAsync(sums, stream);
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  sum(x.data<__half>(), y.data<float>(), x.shape(0), x.shape(1), static_cast<int>(x.shape(2)), stream);
}
