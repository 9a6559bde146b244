// Softmax over the last axis, fp32, fp16 or bf16: a block a row. Rows of up to 8192 elements are read once and
// kept in registers; longer ones are read twice, the first time for the running maximum and sum (Milakov and
// Gimelshein, "Online normalizer calculation for softmax", 2018), the second time from L2 where they fit.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>
#include <kernelwright/reduce.cuh>

namespace {

constexpr int kThreads = 256;
constexpr int kCached = 32;  // elements a thread keeps
constexpr float kLog2e = 1.4426950408889634f;

// V elements an access; the row length is a multiple of V.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) softmax_cached(const T* __restrict__ x, T* __restrict__ y, int n) {
  using Pack = kw::Pack<T, V>;
  __shared__ float scratch[kThreads / 32];
  const Pack* row = reinterpret_cast<const Pack*>(x + static_cast<size_t>(blockIdx.x) * n);
  Pack* out = reinterpret_cast<Pack*>(y + static_cast<size_t>(blockIdx.x) * n);
  const int packs = n / V;

  float value[kCached];
  float largest = kw::Max::identity();
#pragma unroll
  for (int i = 0; i < kCached / V; ++i) {
    const int p = i * kThreads + threadIdx.x;
    if (p >= packs) break;
    const Pack pack = row[p];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      value[i * V + e] = kw::to_float(pack.at[e]);
      largest = fmaxf(largest, value[i * V + e]);
    }
  }
  largest = kw::block_reduce<kw::Max, kThreads>(largest, scratch);

  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kCached / V; ++i) {
    if (i * kThreads + static_cast<int>(threadIdx.x) >= packs) break;
#pragma unroll
    for (int e = 0; e < V; ++e) {
      value[i * V + e] = exp2f((value[i * V + e] - largest) * kLog2e);
      sum += value[i * V + e];
    }
  }
  const float inverse = 1.0f / kw::block_reduce<kw::Sum, kThreads>(sum, scratch);

#pragma unroll
  for (int i = 0; i < kCached / V; ++i) {
    const int p = i * kThreads + threadIdx.x;
    if (p >= packs) break;
    Pack pack;
#pragma unroll
    for (int e = 0; e < V; ++e) pack.at[e] = kw::from_float<T>(value[i * V + e] * inverse);
    out[p] = pack;
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads) softmax_streamed(const T* __restrict__ x, T* __restrict__ y, int n) {
  using Pack = kw::Pack<T, V>;
  __shared__ float scratch[kThreads / 32];
  const Pack* row = reinterpret_cast<const Pack*>(x + static_cast<size_t>(blockIdx.x) * n);
  Pack* out = reinterpret_cast<Pack*>(y + static_cast<size_t>(blockIdx.x) * n);
  const int packs = n / V;

  float largest = kw::Max::identity(), sum = 0.0f;
  for (int p = threadIdx.x; p < packs; p += kThreads) {
    const Pack pack = row[p];
    float here = largest;
#pragma unroll
    for (int e = 0; e < V; ++e) here = fmaxf(here, kw::to_float(pack.at[e]));
    // A thread that has seen nothing but -inf must not form inf - inf.
    sum *= here == largest ? 1.0f : exp2f((largest - here) * kLog2e);
    largest = here;
#pragma unroll
    for (int e = 0; e < V; ++e) sum += exp2f((kw::to_float(pack.at[e]) - largest) * kLog2e);
  }
  const float row_largest = kw::block_reduce<kw::Max, kThreads>(largest, scratch);
  sum *= largest == row_largest ? 1.0f : exp2f((largest - row_largest) * kLog2e);
  const float inverse = 1.0f / kw::block_reduce<kw::Sum, kThreads>(sum, scratch);

  for (int p = threadIdx.x; p < packs; p += kThreads) {
    const Pack in = row[p];
    Pack pack;
#pragma unroll
    for (int e = 0; e < V; ++e) {
      pack.at[e] = kw::from_float<T>(exp2f((kw::to_float(in.at[e]) - row_largest) * kLog2e) * inverse);
    }
    out[p] = pack;
  }
}

template <typename T>
void launch(const T* x, T* y, int64_t rows, int n, cudaStream_t stream) {
  constexpr int kVector = 16 / sizeof(T);
  const unsigned blocks = static_cast<unsigned>(rows);
  const bool vector = n % kVector == 0, cached = n <= kThreads * kCached;
  if (cached && vector) softmax_cached<T, kVector><<<blocks, kThreads, 0, stream>>>(x, y, n);
  if (cached && !vector) softmax_cached<T, 1><<<blocks, kThreads, 0, stream>>>(x, y, n);
  if (!cached && vector) softmax_streamed<T, kVector><<<blocks, kThreads, 0, stream>>>(x, y, n);
  if (!cached && !vector) softmax_streamed<T, 1><<<blocks, kThreads, 0, stream>>>(x, y, n);
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const int n = static_cast<int>(x.shape(-1));
  if (x.size() == 0) return;
  const int64_t rows = x.size() / n;
  switch (x.dtype()) {
    case kw::DType::kFloat16: launch(x.data<__half>(), y.data<__half>(), rows, n, stream); break;
    case kw::DType::kBFloat16: launch(x.data<__nv_bfloat16>(), y.data<__nv_bfloat16>(), rows, n, stream); break;
    default: launch(x.data<float>(), y.data<float>(), rows, n, stream); break;
  }
}
