// y = silu(x[:, :F]) * x[:, F:], bf16: a thread 16 bytes of y, one element where F is no multiple of eight.
#include <kernelwright/activation.cuh>
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

constexpr int kThreads = 256;

// Row blockIdx.x, columns from blockIdx.y * kThreads * V.
template <int V>
__global__ void __launch_bounds__(kThreads) swiglu(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y, int width) {
  using Pack = kw::Pack<__nv_bfloat16, V>;
  const int column = static_cast<int>(blockIdx.y * kThreads + threadIdx.x) * V;
  if (column >= width) return;
  const __nv_bfloat16* row = x + static_cast<size_t>(blockIdx.x) * 2 * width + column;
  const Pack gate = *reinterpret_cast<const Pack*>(row), up = *reinterpret_cast<const Pack*>(row + width);
  Pack out;
#pragma unroll
  for (int e = 0; e < V; ++e) out.at[e] = kw::from_float<__nv_bfloat16>(kw::silu(kw::to_float(gate.at[e])) * kw::to_float(up.at[e]));
  *reinterpret_cast<Pack*>(y + static_cast<size_t>(blockIdx.x) * width + column) = out;
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const int width = static_cast<int>(y.shape(1)), vector = width % 8 == 0 ? 8 : 1;
  const dim3 grid(static_cast<unsigned>(y.shape(0)), (width / vector + kThreads - 1) / kThreads);
  auto* kernel = vector == 8 ? &swiglu<8> : &swiglu<1>;
  kernel<<<grid, kThreads, 0, stream>>>(x.data<__nv_bfloat16>(), y.data<__nv_bfloat16>(), width);
}
