// Softmax over the last axis, fp32, fp16 or bf16: a block a row. Rows of up to 64 Ki elements are read once and
// kept in registers in their own type; longer ones are read twice, the first time for the running maximum and sum
// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
// A row may start anywhere: up to 15 bytes before the first 16-byte boundary and after the last one are elements
// of their own, the rest moves 16 bytes at a time.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>
#include <kernelwright/reduce.cuh>
#include <kernelwright/row.cuh>

namespace {

constexpr float kLog2e = 1.4426950408889634f;

// kPacks packs a thread; the row has at most kThreads * kPacks of them. x and y rows are equally aligned.
template <typename T, int V, int kThreads, int kPacks>
__global__ void __launch_bounds__(kThreads) softmax_cached(const T* __restrict__ x, T* __restrict__ y, int n) {
  using Pack = kw::Pack<T, V>;
  __shared__ float scratch[kThreads / 32];
  x += static_cast<size_t>(blockIdx.x) * n;
  y += static_cast<size_t>(blockIdx.x) * n;
  const kw::Row<T, V> row(x, n);
  const Pack* in = reinterpret_cast<const Pack*>(x + row.head);
  Pack* out = reinterpret_cast<Pack*>(y + row.head);
  const int single = row.single(threadIdx.x);

  Pack kept[kPacks];
  const float alone = single < 0 ? kw::Max::identity() : kw::to_float(x[single]);
  float largest = alone;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int p = i * kThreads + threadIdx.x;
    if (p >= row.packs) break;
    kept[i] = in[p];
#pragma unroll
    for (int e = 0; e < V; ++e) largest = fmaxf(largest, kw::to_float(kept[i].at[e]));
  }
  largest = kw::block_reduce<kw::Max, kThreads>(largest, scratch);

  float sum = single < 0 ? 0.0f : exp2f((alone - largest) * kLog2e);
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    if (i * kThreads + static_cast<int>(threadIdx.x) >= row.packs) break;
#pragma unroll
    for (int e = 0; e < V; ++e) sum += exp2f((kw::to_float(kept[i].at[e]) - largest) * kLog2e);
  }
  const float inverse = 1.0f / kw::block_reduce<kw::Sum, kThreads>(sum, scratch);

  if (single >= 0) y[single] = kw::from_float<T>(exp2f((alone - largest) * kLog2e) * inverse);
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int p = i * kThreads + threadIdx.x;
    if (p >= row.packs) break;
#pragma unroll
    for (int e = 0; e < V; ++e) {
      kept[i].at[e] = kw::from_float<T>(exp2f((kw::to_float(kept[i].at[e]) - largest) * kLog2e) * inverse);
    }
    out[p] = kept[i];
  }
}

template <typename T, int V, int kThreads>
__global__ void __launch_bounds__(kThreads) softmax_streamed(const T* __restrict__ x, T* __restrict__ y, int n) {
  using Pack = kw::Pack<T, V>;
  __shared__ float scratch[kThreads / 32];
  x += static_cast<size_t>(blockIdx.x) * n;
  y += static_cast<size_t>(blockIdx.x) * n;
  const kw::Row<T, V> row(x, n);
  const Pack* in = reinterpret_cast<const Pack*>(x + row.head);
  Pack* out = reinterpret_cast<Pack*>(y + row.head);
  const int single = row.single(threadIdx.x);

  const float alone = single < 0 ? kw::Max::identity() : kw::to_float(x[single]);
  float largest = alone, sum = single < 0 ? 0.0f : 1.0f;
  for (int p = threadIdx.x; p < row.packs; p += kThreads) {
    const Pack pack = in[p];
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

  if (single >= 0) y[single] = kw::from_float<T>(exp2f((alone - row_largest) * kLog2e) * inverse);
  for (int p = threadIdx.x; p < row.packs; p += kThreads) {
    Pack pack = in[p];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      pack.at[e] = kw::from_float<T>(exp2f((kw::to_float(pack.at[e]) - row_largest) * kLog2e) * inverse);
    }
    out[p] = pack;
  }
}

template <typename T>
void launch(const T* x, T* y, int64_t rows, int n, cudaStream_t stream) {
  constexpr int kVector = 16 / sizeof(T);
  const unsigned blocks = static_cast<unsigned>(rows);
  const int packs = n / kVector;
  if (packs <= 128) {
    softmax_cached<T, kVector, 128, 1><<<blocks, 128, 0, stream>>>(x, y, n);
  } else if (packs <= 256 * 4) {
    softmax_cached<T, kVector, 256, 4><<<blocks, 256, 0, stream>>>(x, y, n);
  } else if (packs <= 1024 * 8) {
    softmax_cached<T, kVector, 1024, 8><<<blocks, 1024, 0, stream>>>(x, y, n);
  } else {
    softmax_streamed<T, kVector, 1024><<<blocks, 1024, 0, stream>>>(x, y, n);
  }
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
