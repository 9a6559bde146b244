// Running sums of rows, fp32: a block a row, from piece to piece; in a piece each thread adds up four neighbours, a warp
// scans its threads' sums by shuffles, and every thread adds the sums of the warps before its own.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

constexpr int kEach = 4;  // elements a thread and piece

// V elements an access, 1 or kEach; n is a multiple of V.
template <int V, int kThreads>
__global__ void __launch_bounds__(kThreads) cumsum(const float* __restrict__ x, float* __restrict__ y, int n) {
  using Pack = kw::Pack<float, V>;
  constexpr int kWarps = kThreads / 32;
  __shared__ float warp_sums[2][kWarps];  // of two pieces in turn: one barrier a piece
  x += static_cast<size_t>(blockIdx.x) * n;
  y += static_cast<size_t>(blockIdx.x) * n;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float before = 0.0f;  // sum of the pieces before
  for (int piece = 0, turn = 0; piece < n; piece += kThreads * kEach, turn ^= 1) {
    const int at = piece + static_cast<int>(threadIdx.x) * kEach;
    float sum[kEach] = {};
#pragma unroll
    for (int i = 0; i < kEach; i += V) {
      if (at + i >= n) break;
      const Pack pack = *reinterpret_cast<const Pack*>(x + at + i);
#pragma unroll
      for (int e = 0; e < V; ++e) sum[i + e] = pack.at[e];
    }
#pragma unroll
    for (int i = 1; i < kEach; ++i) sum[i] += sum[i - 1];
    float scanned = sum[kEach - 1];
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const float below = __shfl_up_sync(0xffffffffu, scanned, distance);
      if (lane >= distance) scanned += below;
    }
    if (lane == 31) warp_sums[turn][warp] = scanned;
    __syncthreads();
    float start = before + (scanned - sum[kEach - 1]);
#pragma unroll
    for (int other = 0; other < kWarps; ++other) {
      const float whole = warp_sums[turn][other];
      if (other < warp) start += whole;
      before += whole;
    }
#pragma unroll
    for (int i = 0; i < kEach; i += V) {
      if (at + i >= n) break;
      Pack pack;
#pragma unroll
      for (int e = 0; e < V; ++e) pack.at[e] = start + sum[i + e];
      *reinterpret_cast<Pack*>(y + at + i) = pack;
    }
  }
}

template <int V>
auto kernel_for(int n) {
  return n <= 1024 ? &cumsum<V, 128> : &cumsum<V, 512>;
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const int n = static_cast<int>(x.shape(1));
  auto* kernel = n % kEach == 0 ? kernel_for<kEach>(n) : kernel_for<1>(n);
  kernel<<<static_cast<unsigned>(x.shape(0)), n <= 1024 ? 128 : 512, 0, stream>>>(x.data<float>(), y.data<float>(), n);
}
