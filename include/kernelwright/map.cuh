// y[i] = f(x[i], …) for every element: a thread 16 bytes, the last few elements by threads of their own.
#pragma once

#include <kernelwright/pack.cuh>

#include <cstdint>

namespace kw {

inline constexpr int kMapThreads = 256;

// F is a functor of floats; y and every x start at a multiple of 16 bytes.
template <typename F, typename T, typename... X>
__global__ void __launch_bounds__(kMapThreads) map_elements(F f, int64_t n, T* __restrict__ y, const X* __restrict__... x) {
  constexpr int kVector = 16 / sizeof(T);
  const int64_t packs = n / kVector;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kMapThreads + threadIdx.x;
  if (i < packs) {
    const auto apply = [&](const auto&... in) {
      Pack<T, kVector> out;
#pragma unroll
      for (int e = 0; e < kVector; ++e) out.at[e] = from_float<T>(f(to_float(in.at[e])...));
      return out;
    };
    reinterpret_cast<Pack<T, kVector>*>(y)[i] = apply(reinterpret_cast<const Pack<X, kVector>*>(x)[i]...);
  } else if (const int64_t last = packs * kVector + (i - packs); last < n) {
    y[last] = from_float<T>(f(to_float(x[last])...));
  }
}

template <typename F, typename T, typename... X>
void map(F f, int64_t n, cudaStream_t stream, T* y, const X*... x) {
  constexpr int kVector = 16 / sizeof(T);
  if (n == 0) return;
  const int64_t work = n / kVector + n % kVector;
  map_elements<<<static_cast<unsigned>((work + kMapThreads - 1) / kMapThreads), kMapThreads, 0, stream>>>(f, n, y, x...);
}

}  // namespace kw
