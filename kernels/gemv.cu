// y = A·x, fp16 in and out, fp32 accumulation, A row-major: a warp a row, 16 bytes a lane, eight warps a block.
// The vector is small and read by every row, so it comes from L1 and L2.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>
#include <kernelwright/reduce.cuh>

namespace {

constexpr int kWarps = 8;

// V elements an access; k is a multiple of V.
template <int V>
__global__ void __launch_bounds__(32 * kWarps) gemv_f16(const __half* __restrict__ a, const __half* __restrict__ x,
                                                        __half* __restrict__ y, int m, int k) {
  using Pack = kw::Pack<__half, V>;
  const int row = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= m) return;
  const Pack* a_row = reinterpret_cast<const Pack*>(a + static_cast<size_t>(row) * k);
  const Pack* vector = reinterpret_cast<const Pack*>(x);
  float sum = 0.0f;
#pragma unroll 4
  for (int p = lane; p < k / V; p += 32) {
    const Pack u = a_row[p], w = vector[p];
#pragma unroll
    for (int e = 0; e < V; ++e) sum = fmaf(kw::to_float(u.at[e]), kw::to_float(w.at[e]), sum);
  }
  sum = kw::warp_reduce<kw::Sum>(sum);
  if (lane == 0) y[row] = __float2half_rn(sum);
}

}  // namespace

KW_ENTRY(kw::In a, kw::In x, kw::Out y, cudaStream_t stream) {
  const int m = static_cast<int>(a.shape(0)), k = static_cast<int>(a.shape(1));
  const unsigned blocks = (m + kWarps - 1) / kWarps;
  if (k % 8 == 0) {
    gemv_f16<8><<<blocks, 32 * kWarps, 0, stream>>>(a.data<__half>(), x.data<__half>(), y.data<__half>(), m, k);
  } else {
    gemv_f16<1><<<blocks, 32 * kWarps, 0, stream>>>(a.data<__half>(), x.data<__half>(), y.data<__half>(), m, k);
  }
}
