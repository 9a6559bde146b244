// dx = (g - mean(g) - u · mean(g · u)) / sqrt(var(x) + eps) + dr with u = (x - mean(x)) / sqrt(var(x) + eps) and
// g = dy · w, bf16: a block a row; x and g stay in registers in fp32.
#include <kernelwright/candidate.h>
#include <kernelwright/reduce.cuh>
#include <kernelwright/row.cuh>

namespace {

using T = __nv_bfloat16;
constexpr int kElements = 16;  // a thread's

// V elements an access; n is a multiple of V and at most kThreads * kElements.
template <int V, int kThreads>
__global__ void __launch_bounds__(kThreads) layer_norm_backward(const T* __restrict__ x, const T* __restrict__ w,
                                                                const T* __restrict__ dy, const T* __restrict__ dr,
                                                                T* __restrict__ dx, int n, float eps) {
  using Pack = kw::Pack<T, V>;
  __shared__ float scratch[kThreads / 32];
  const size_t start = static_cast<size_t>(blockIdx.x) * n;
  const int packs = n / V;
  const auto at = [](const T* row, int p) { return reinterpret_cast<const Pack*>(row)[p]; };

  float kept[kElements / V][V], g[kElements / V][V], sum = 0.0f, sum_g = 0.0f;
  kw::for_packs<V, kThreads, kElements>(packs, [&](int i, int p) {
    const Pack in = at(x + start, p), above = at(dy + start, p), weight = at(w, p);
#pragma unroll
    for (int e = 0; e < V; ++e) {
      kept[i][e] = kw::to_float(in.at[e]);
      g[i][e] = kw::to_float(above.at[e]) * kw::to_float(weight.at[e]);
      sum += kept[i][e];
      sum_g += g[i][e];
    }
  });
  const float mean = kw::block_reduce<kw::Sum, kThreads>(sum, scratch) / n;
  const float mean_g = kw::block_reduce<kw::Sum, kThreads>(sum_g, scratch) / n;

  float squares = 0.0f, products = 0.0f;
  kw::for_packs<V, kThreads, kElements>(packs, [&](int i, int) {
#pragma unroll
    for (int e = 0; e < V; ++e) {
      kept[i][e] -= mean;
      squares = fmaf(kept[i][e], kept[i][e], squares);
      products = fmaf(kept[i][e], g[i][e], products);
    }
  });
  const float scale = rsqrtf(kw::block_reduce<kw::Sum, kThreads>(squares, scratch) / n + eps);
  const float slope = kw::block_reduce<kw::Sum, kThreads>(products, scratch) / n * scale * scale;

  kw::for_packs<V, kThreads, kElements>(packs, [&](int i, int p) {
    const Pack around = at(dr + start, p);
    Pack out;
#pragma unroll
    for (int e = 0; e < V; ++e) {
      out.at[e] = kw::from_float<T>(fmaf(g[i][e] - mean_g - kept[i][e] * slope, scale, kw::to_float(around.at[e])));
    }
    reinterpret_cast<Pack*>(dx + start)[p] = out;
  });
}

template <int V>
auto kernel_for(int n) {
  return n <= 128 * kElements ? &layer_norm_backward<V, 128> : &layer_norm_backward<V, 512>;
}

}  // namespace

KW_ENTRY(kw::In x, kw::In w, kw::In dy, kw::In dr, kw::Out dx, float eps, cudaStream_t stream) {
  const int n = static_cast<int>(x.shape(1)), threads = n <= 128 * kElements ? 128 : 512;
  auto* kernel = n % 8 == 0 ? kernel_for<8>(n) : kernel_for<1>(n);
  kernel<<<static_cast<unsigned>(x.shape(0)), threads, 0, stream>>>(x.data<T>(), w.data<T>(), dy.data<T>(), dr.data<T>(), dx.data<T>(), n,
                                                                    eps);
}
