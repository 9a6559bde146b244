// Softmax of scale · x up to the diagonal and zeros beyond, fp16: a block a row, whose scores are read twice, those beyond
// the diagonal never.
#include <kernelwright/candidate.h>
#include <kernelwright/softmax.cuh>

namespace {

using T = __half;
constexpr int kThreads = 128, V = 8;

__global__ void __launch_bounds__(kThreads) causal_softmax(const T* __restrict__ x, T* __restrict__ y, int n, float scale) {
  using Pack = kw::Pack<T, V>;
  x += static_cast<size_t>(blockIdx.x) * n;
  y += static_cast<size_t>(blockIdx.x) * n;
  const int seen = blockIdx.x % n + 1;
  const kw::ExpSum all = kw::row_exp_sum<T, V, kThreads>(x, seen, scale);
  const float inverse = 1.0f / all.sum, factor = scale * kw::kLog2e, top = all.top * kw::kLog2e;
  const auto share = [&](T score) { return kw::from_float<T>(exp2f(kw::to_float(score) * factor - top) * inverse); };
  const T zero = kw::from_float<T>(0.0f);

  const kw::Row<T, V> row(y, n);  // rows of x are aligned alike
  if (const int at = row.single(threadIdx.x); at >= 0) y[at] = at < seen ? share(x[at]) : zero;
  for (int p = threadIdx.x; p < row.packs; p += kThreads) {
    const int first = row.head + p * V;
    Pack pack{};
    if (first < seen) pack = *reinterpret_cast<const Pack*>(x + first);
#pragma unroll
    for (int e = 0; e < V; ++e) pack.at[e] = first + e < seen ? share(pack.at[e]) : zero;
    *reinterpret_cast<Pack*>(y + first) = pack;
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, float scale, cudaStream_t stream) {
  const int n = static_cast<int>(x.shape(2));
  causal_softmax<<<static_cast<unsigned>(x.shape(0) * x.shape(1)), kThreads, 0, stream>>>(x.data<T>(), y.data<T>(), n, scale);
}
