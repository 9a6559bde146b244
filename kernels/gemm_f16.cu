// C = A·B, fp16 in and out, fp32 accumulation, row-major, for sm_80 and later.
//
// One block of eight warps computes a 128×256 tile of C; a warp computes 64×64 of it, so that each fragment read
// from shared memory is used four times (kernelwright/gemm_tile.cuh). Shapes whose rows are not 16-byte aligned take
// the same path with element-wise copies.
#include <kernelwright/candidate.h>
#include <kernelwright/gemm_tile.cuh>

namespace {

template <bool kAligned>
using Tile = kw::GemmTile<__half, kw::BLayout::kRows, 128, 256, 64, 64, 4, kAligned>;

template <bool kAligned>
__global__ void __launch_bounds__(Tile<kAligned>::kThreads) gemm_f16_sm80(const __half* __restrict__ a, const __half* __restrict__ b,
                                                                          __half* __restrict__ c, int m, int n, int k) {
  const auto store = [&](int row, int column, float x, float y) {
    __half* out = c + static_cast<size_t>(row) * n + column;
    if (kAligned) {
      *reinterpret_cast<uint32_t*>(out) = kw::pack_half2(x, y);
    } else {
      out[0] = __float2half_rn(x);
      if (column + 1 < n) out[1] = __float2half_rn(y);
    }
  };
  Tile<kAligned>::multiply({a, m, k, k}, {b, k, n, n}, blockIdx.y * Tile<kAligned>::kM, blockIdx.x * Tile<kAligned>::kN, store);
}

template <bool kAligned>
void launch(const __half* a, const __half* b, __half* c, int m, int n, int k, cudaStream_t stream) {
  kw::launch_tiles<Tile<kAligned>>(&gemm_f16_sm80<kAligned>, m, n, 1, stream, a, b, c, m, n, k);
}

}  // namespace

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int m = static_cast<int>(a.shape(0)), k = static_cast<int>(a.shape(1)), n = static_cast<int>(b.shape(1));
  const bool aligned = k % 8 == 0 && n % 8 == 0;
  (aligned ? launch<true> : launch<false>)(a.data<__half>(), b.data<__half>(), c.data<__half>(), m, n, k, stream);
}
