//  Sound: the rows are split over as many blocks as fill the GPU, so how many a block sums goes by the grid.
// problem: problems/sum_middle_axis.problem
// not: uncoalesced vector_width bank_conflicts shared_tiling few_blocks imbalance launch_overhead divergence
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

constexpr int kWarps = 8;

// Columns from blockIdx.x * 32 * V, `each` rows from blockIdx.y * each, matrix blockIdx.z.
template <typename T, int V>
__global__ void __launch_bounds__(32 * kWarps) sum_rows(const T* __restrict__ x, float* __restrict__ y, int64_t rows, int64_t each, int columns) {
  using Pack = kw::Pack<T, V>;
  __shared__ float sums[kWarps][32 * V];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = (blockIdx.x * 32 + lane) * V;
  const int64_t begin = blockIdx.y * each, end = min(rows, begin + each);
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
  for (int e = 0; e < V; ++e) sums[warp][e * 32 + lane] = sum[e];
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
void launch(const T* x, float* y, int64_t matrices, int64_t rows, int64_t splits, int columns, cudaStream_t stream) {
  constexpr int kVector = 16 / sizeof(T);
  const int vector = columns % kVector == 0 ? kVector : 1;
  const dim3 grid((columns + 32 * vector - 1) / (32 * vector), static_cast<unsigned>(splits), static_cast<unsigned>(matrices));
  auto* kernel = vector == 1 ? &sum_rows<T, 1> : &sum_rows<T, kVector>;
  kernel<<<grid, 32 * kWarps, 0, stream>>>(x, y, rows, (rows + splits - 1) / splits, columns);
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const int64_t matrices = x.shape(0), rows = x.shape(1), columns = x.shape(2);
  int sms = 1;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  const int64_t across = (columns + 255) / 256 * matrices, splits = max(int64_t{1}, min(rows / 32, sms * 8 / across));
  float* sums = y.data<float>();
  if (splits > 1) cudaMallocAsync(reinterpret_cast<void**>(&sums), sizeof(float) * matrices * splits * columns, stream);
  launch(x.data<__half>(), sums, matrices, rows, splits, columns, stream);
  if (splits == 1) return;
  launch(static_cast<const float*>(sums), y.data<float>(), matrices, splits, 1, columns, stream);
  cudaFreeAsync(sums, stream);
}
