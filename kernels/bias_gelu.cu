// y = gelu(x + bias of the column), the tanh form of GELU, fp16: a thread 16 bytes, one element where rows are no
// multiple of eight.
#include <kernelwright/activation.cuh>
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

constexpr int kThreads = 256;

// Row blockIdx.x, columns from blockIdx.y * kThreads * V.
template <int V>
__global__ void __launch_bounds__(kThreads) bias_gelu(const __half* __restrict__ x, const __half* __restrict__ b, __half* __restrict__ y,
                                                      int n) {
  using Pack = kw::Pack<__half, V>;
  const int column = static_cast<int>(blockIdx.y * kThreads + threadIdx.x) * V;
  if (column >= n) return;
  const size_t at = static_cast<size_t>(blockIdx.x) * n + column;
  const Pack in = *reinterpret_cast<const Pack*>(x + at), bias = *reinterpret_cast<const Pack*>(b + column);
  Pack out;
#pragma unroll
  for (int e = 0; e < V; ++e) out.at[e] = kw::from_float<__half>(kw::gelu_tanh(kw::to_float(in.at[e]) + kw::to_float(bias.at[e])));
  *reinterpret_cast<Pack*>(y + at) = out;
}

}  // namespace

KW_ENTRY(kw::In x, kw::In b, kw::Out y, cudaStream_t stream) {
  const int n = static_cast<int>(y.shape(1)), vector = n % 8 == 0 ? 8 : 1;
  const dim3 grid(static_cast<unsigned>(y.shape(0)), (n / vector + kThreads - 1) / kThreads);
  auto* kernel = vector == 8 ? &bias_gelu<8> : &bias_gelu<1>;
  kernel<<<grid, kThreads, 0, stream>>>(x.data<__half>(), b.data<__half>(), y.data<__half>(), n);
}
