// y = x / sqrt(mean(x²) + eps) · w over the last axis, fp32, fp16 or bf16: a block a row. Rows of up to 8192
// elements are read once and kept in registers; longer ones are read twice.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>
#include <kernelwright/reduce.cuh>

namespace {

constexpr int kThreads = 256;
constexpr int kCached = 32;  // elements a thread keeps

// V elements an access; the row length is a multiple of V. Cached: n <= kThreads * kCached.
template <typename T, int V, bool kInRegisters>
__global__ void __launch_bounds__(kThreads) rms_norm(const T* __restrict__ x, const T* __restrict__ w, T* __restrict__ y, int n,
                                                     float eps) {
  using Pack = kw::Pack<T, V>;
  __shared__ float scratch[kThreads / 32];
  const Pack* row = reinterpret_cast<const Pack*>(x + static_cast<size_t>(blockIdx.x) * n);
  const Pack* weight = reinterpret_cast<const Pack*>(w);
  Pack* out = reinterpret_cast<Pack*>(y + static_cast<size_t>(blockIdx.x) * n);
  const int packs = n / V;

  Pack kept[kInRegisters ? kCached / V : 1];
  float sum = 0.0f;
  if constexpr (kInRegisters) {
#pragma unroll
    for (int i = 0; i < kCached / V; ++i) {
      const int p = i * kThreads + threadIdx.x;
      if (p >= packs) break;
      kept[i] = row[p];
#pragma unroll
      for (int e = 0; e < V; ++e) sum = fmaf(kw::to_float(kept[i].at[e]), kw::to_float(kept[i].at[e]), sum);
    }
  } else {
    for (int p = threadIdx.x; p < packs; p += kThreads) {
      const Pack pack = row[p];
#pragma unroll
      for (int e = 0; e < V; ++e) sum = fmaf(kw::to_float(pack.at[e]), kw::to_float(pack.at[e]), sum);
    }
  }
  sum = kw::block_reduce<kw::Sum, kThreads>(sum, scratch);
  const float scale = rsqrtf(sum / n + eps);

  auto write = [&](int p, const Pack& in) {
    const Pack factor = weight[p];
    Pack pack;
#pragma unroll
    for (int e = 0; e < V; ++e) pack.at[e] = kw::from_float<T>(kw::to_float(in.at[e]) * scale * kw::to_float(factor.at[e]));
    out[p] = pack;
  };
  if constexpr (kInRegisters) {
#pragma unroll
    for (int i = 0; i < kCached / V; ++i) {
      const int p = i * kThreads + threadIdx.x;
      if (p >= packs) break;
      write(p, kept[i]);
    }
  } else {
    for (int p = threadIdx.x; p < packs; p += kThreads) write(p, row[p]);
  }
}

template <typename T>
void launch(const T* x, const T* w, T* y, int64_t rows, int n, float eps, cudaStream_t stream) {
  constexpr int kVector = 16 / sizeof(T);
  const unsigned blocks = static_cast<unsigned>(rows);
  const bool vector = n % kVector == 0, cached = n <= kThreads * kCached;
  if (cached && vector) rms_norm<T, kVector, true><<<blocks, kThreads, 0, stream>>>(x, w, y, n, eps);
  if (cached && !vector) rms_norm<T, 1, true><<<blocks, kThreads, 0, stream>>>(x, w, y, n, eps);
  if (!cached && vector) rms_norm<T, kVector, false><<<blocks, kThreads, 0, stream>>>(x, w, y, n, eps);
  if (!cached && !vector) rms_norm<T, 1, false><<<blocks, kThreads, 0, stream>>>(x, w, y, n, eps);
}

}  // namespace

KW_ENTRY(kw::In x, kw::In w, kw::Out y, float eps, cudaStream_t stream) {
  const int n = static_cast<int>(x.shape(-1));
  if (x.size() == 0) return;
  const int64_t rows = x.size() / n;
  switch (x.dtype()) {
    case kw::DType::kFloat16: launch(x.data<__half>(), w.data<__half>(), y.data<__half>(), rows, n, eps, stream); break;
    case kw::DType::kBFloat16:
      launch(x.data<__nv_bfloat16>(), w.data<__nv_bfloat16>(), y.data<__nv_bfloat16>(), rows, n, eps, stream);
      break;
    default: launch(x.data<float>(), w.data<float>(), y.data<float>(), rows, n, eps, stream); break;
  }
}
