// dx = (exp(x - lse) - [column is the label]) · g of the row, bf16: a block a stretch of a row.
#include <kernelwright/candidate.h>
#include <kernelwright/row.cuh>

namespace {

using T = __nv_bfloat16;
constexpr int kThreads = 256, V = 8;

// Row blockIdx.x; blockIdx.y strides over its packs.
__global__ void __launch_bounds__(kThreads) cross_entropy_backward(const T* __restrict__ x, const int64_t* __restrict__ label,
                                                                   const float* __restrict__ lse, const float* __restrict__ g,
                                                                   T* __restrict__ dx, int n) {
  using Pack = kw::Pack<T, V>;
  x += static_cast<size_t>(blockIdx.x) * n;
  dx += static_cast<size_t>(blockIdx.x) * n;
  const int hot = static_cast<int>(label[blockIdx.x]);
  const float all = lse[blockIdx.x], scale = g[blockIdx.x];
  const auto slope = [&](T value, int column) {
    return kw::from_float<T>((__expf(kw::to_float(value) - all) - (column == hot ? 1.0f : 0.0f)) * scale);
  };
  const kw::Row<T, V> row(x, n);  // rows of dx are aligned alike
  const int thread = blockIdx.y * kThreads + threadIdx.x;
  if (const int single = row.single(thread); single >= 0) dx[single] = slope(x[single], single);
  for (int p = thread; p < row.packs; p += gridDim.y * kThreads) {
    Pack pack = reinterpret_cast<const Pack*>(x + row.head)[p];
#pragma unroll
    for (int e = 0; e < V; ++e) pack.at[e] = slope(pack.at[e], row.head + p * V + e);
    reinterpret_cast<Pack*>(dx + row.head)[p] = pack;
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::In label, kw::In lse, kw::In g, kw::Out dx, cudaStream_t stream) {
  constexpr int kStretch = kThreads * V * 4;
  const int n = static_cast<int>(x.shape(1));
  const dim3 grid(static_cast<unsigned>(x.shape(0)), (n + kStretch - 1) / kStretch);
  cross_entropy_backward<<<grid, kThreads, 0, stream>>>(x.data<T>(), label.data<int64_t>(), lse.data<float>(), g.data<float>(),
                                                        dx.data<T>(), n);
}
