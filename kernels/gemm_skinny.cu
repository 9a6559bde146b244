// Y = X·Wᵀ for at most 16 rows of X (tokens being decoded), fp16 in and out, fp32 accumulation, for sm_80 and later.
//
// All that matters is to read W once at full rate. A block of eight warps computes eight columns of Y; each warp takes
// every eighth slice of 64 of k, and the warps' sums meet in shared memory. W goes from device memory straight into
// the operand registers of the tensor cores: a product over k does not care about the order of k, so lane 4·g + t
// takes 16 neighbouring elements of row g for the places that mma gives it, and those of X for the same places.
#include <kernelwright/candidate.h>
#include <kernelwright/mma.cuh>

namespace {

constexpr int kWarps = 8;
constexpr int kColumns = 8;  // of Y, a block
constexpr int kSlice = 64;   // of k, a warp at a time

// Eight halves from `at` on; k is a multiple of eight.
__device__ uint4 read_8(const __half* row, int at, bool inside) {
  return inside ? __ldg(reinterpret_cast<const uint4*>(row + at)) : make_uint4(0, 0, 0, 0);
}

// kMore: there are more than eight rows of X.
template <bool kMore>
__global__ void __launch_bounds__(32 * kWarps)
    gemm_skinny_sm80(const __half* __restrict__ x, const __half* __restrict__ w, __half* __restrict__ y, int m, int n, int k) {
  __shared__ float partial[kWarps][16][kColumns];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int g = lane / 4, t = lane % 4;
  const int column = blockIdx.x * kColumns + g;
  const bool has_column = column < n, has_low = g < m, has_high = kMore && g + 8 < m;
  const __half* w_row = w + static_cast<size_t>(has_column ? column : 0) * k;
  const __half* x_low = x + static_cast<size_t>(has_low ? g : 0) * k;
  const __half* x_high = x + static_cast<size_t>(has_high ? g + 8 : 0) * k;

  float acc[4] = {};
#pragma unroll 4
  for (int at = warp * kSlice + t * 8; at < k + t * 8; at += kWarps * kSlice) {
    // Two groups of 32 of k; of each, this lane takes eight.
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int here = at + half * 32;
      const bool inside = here < k;
      const uint4 b = read_8(w_row, here, inside && has_column);
      const uint4 low = read_8(x_low, here, inside && has_low);
      const uint4 high = kMore ? read_8(x_high, here, inside && has_high) : make_uint4(0, 0, 0, 0);
      const uint32_t first[4] = {low.x, high.x, low.y, high.y}, second[4] = {low.z, high.z, low.w, high.w};
      kw::mma_16x8x16(acc, first, b.x, b.y);
      kw::mma_16x8x16(acc, second, b.z, b.w);
    }
  }

  *reinterpret_cast<float2*>(&partial[warp][g][t * 2]) = make_float2(acc[0], acc[1]);
  *reinterpret_cast<float2*>(&partial[warp][g + 8][t * 2]) = make_float2(acc[2], acc[3]);
  __syncthreads();
  if (threadIdx.x >= 16 * kColumns) return;
  const int row = threadIdx.x / kColumns, out = blockIdx.x * kColumns + threadIdx.x % kColumns;
  if (row >= m || out >= n) return;
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) sum += partial[i][row][threadIdx.x % kColumns];
  y[static_cast<size_t>(row) * n + out] = __float2half_rn(sum);
}

}  // namespace

KW_ENTRY(kw::In x, kw::In w, kw::Out y, cudaStream_t stream) {
  const int m = static_cast<int>(x.shape(0)), k = static_cast<int>(x.shape(1)), n = static_cast<int>(w.shape(0));
  const unsigned blocks = (n + kColumns - 1) / kColumns;
  auto* kernel = m > 8 ? &gemm_skinny_sm80<true> : &gemm_skinny_sm80<false>;
  kernel<<<blocks, 32 * kWarps, 0, stream>>>(x.data<__half>(), w.data<__half>(), y.data<__half>(), m, n, k);
}
