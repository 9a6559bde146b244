// h = x + r; y = (h - mean(h)) / sqrt(var(h) + eps) · w + b, bf16: a block a row, which stays in registers in fp32. The
// variance is taken around the mean, in a second pass over the registers.
#include <kernelwright/candidate.h>
#include <kernelwright/reduce.cuh>
#include <kernelwright/row.cuh>

namespace {

using T = __nv_bfloat16;
constexpr int kElements = 32;  // a thread's

// V elements an access; n is a multiple of V and at most kThreads * kElements.
template <int V, int kThreads>
__global__ void __launch_bounds__(kThreads) layer_norm_residual(const T* __restrict__ x, const T* __restrict__ r,
                                                                const T* __restrict__ w, const T* __restrict__ b,
                                                                T* __restrict__ h, T* __restrict__ y, int n, float eps) {
  using Pack = kw::Pack<T, V>;
  __shared__ float scratch[kThreads / 32];
  const size_t start = static_cast<size_t>(blockIdx.x) * n;
  const int packs = n / V;
  const auto at = [](const T* row, int p) { return reinterpret_cast<const Pack*>(row)[p]; };

  float kept[kElements / V][V], sum = 0.0f;
  kw::for_packs<V, kThreads, kElements>(packs, [&](int i, int p) {
    const Pack left = at(x + start, p), right = at(r + start, p);
    Pack out;
#pragma unroll
    for (int e = 0; e < V; ++e) {
      kept[i][e] = kw::to_float(left.at[e]) + kw::to_float(right.at[e]);
      sum += kept[i][e];
      out.at[e] = kw::from_float<T>(kept[i][e]);
    }
    reinterpret_cast<Pack*>(h + start)[p] = out;
  });
  const float mean = kw::block_reduce<kw::Sum, kThreads>(sum, scratch) / n;

  float squares = 0.0f;
  kw::for_packs<V, kThreads, kElements>(packs, [&](int i, int) {
#pragma unroll
    for (int e = 0; e < V; ++e) squares = fmaf(kept[i][e] - mean, kept[i][e] - mean, squares);
  });
  const float scale = rsqrtf(kw::block_reduce<kw::Sum, kThreads>(squares, scratch) / n + eps);

  kw::for_packs<V, kThreads, kElements>(packs, [&](int i, int p) {
    const Pack weight = at(w, p), bias = at(b, p);
    Pack out;
#pragma unroll
    for (int e = 0; e < V; ++e) {
      out.at[e] = kw::from_float<T>(fmaf((kept[i][e] - mean) * scale, kw::to_float(weight.at[e]), kw::to_float(bias.at[e])));
    }
    reinterpret_cast<Pack*>(y + start)[p] = out;
  });
}

template <int V>
auto kernel_for(int n) {
  return n <= 64 * kElements ? &layer_norm_residual<V, 64> : &layer_norm_residual<V, 256>;
}

}  // namespace

KW_ENTRY(kw::In x, kw::In r, kw::In w, kw::In b, kw::Out h, kw::Out y, float eps, cudaStream_t stream) {
  const int n = static_cast<int>(x.shape(1)), threads = n <= 64 * kElements ? 64 : 256;
  auto* kernel = n % 8 == 0 ? kernel_for<8>(n) : kernel_for<1>(n);
  kernel<<<static_cast<unsigned>(x.shape(0)), threads, 0, stream>>>(x.data<T>(), r.data<T>(), w.data<T>(), b.data<T>(), h.data<T>(),
                                                                    y.data<T>(), n, eps);
}
