// C[b] = A[b]·B[b], fp16 in and out, fp32 accumulation, row-major, for sm_80 and later.
// A block of four warps computes 128×128 of one product, a warp 64×64 (kernelwright/gemm_tile.cuh); the batch is the
// grid's third dimension.
#include <kernelwright/candidate.h>
#include <kernelwright/gemm_tile.cuh>

namespace {

using Tile = kw::GemmTile<__half, kw::BLayout::kRows, 128, 128, 64, 64, 4>;

__global__ void __launch_bounds__(Tile::kThreads, 2)
    gemm_batched_sm80(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c, int m, int n, int k) {
  const size_t batch = blockIdx.z;
  a += batch * m * k;
  b += batch * k * n;
  c += batch * m * n;
  const auto store = [&](int row, int column, float x, float y) {
    *reinterpret_cast<uint32_t*>(c + static_cast<size_t>(row) * n + column) = kw::pack_half2(x, y);
  };
  Tile::multiply({a, m, k, k}, {b, k, n, n}, blockIdx.y * Tile::kM, blockIdx.x * Tile::kN, store);
}

}  // namespace

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int batch = static_cast<int>(a.shape(0)), m = static_cast<int>(a.shape(1)), k = static_cast<int>(a.shape(2));
  const int n = static_cast<int>(b.shape(2));
  kw::launch_tiles<Tile>(&gemm_batched_sm80, m, n, batch, stream, a.data<__half>(), b.data<__half>(), c.data<__half>(), m, n, k);
}
