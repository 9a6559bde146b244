// C = A·B where k is much longer than m and n: fp16 in and out, fp32 accumulation, row-major, for sm_80 and later.
//
// A grid of output tiles alone would leave most of the GPU idle, so k is split too: block z computes the product over
// its part of k (128×128 of it, a warp 64×64; kernelwright/gemm_tile.cuh) into a plane of fp32 workspace, and a second
// kernel adds the planes, in order, so that the result is always the same.
#include <kernelwright/candidate.h>
#include <kernelwright/gemm_tile.cuh>

#include <algorithm>

namespace {

using Tile = kw::GemmTile<__half, kw::BLayout::kRows, 128, 128, 64, 64, 4>;

__global__ void __launch_bounds__(Tile::kThreads, 2)
    product_of_part(const __half* __restrict__ a, const __half* __restrict__ b, float* __restrict__ planes, int m, int n, int k, int part) {
  const int begin = blockIdx.z * part, length = min(part, k - begin);
  float* plane = planes + static_cast<size_t>(blockIdx.z) * m * n;
  const auto store = [&](int row, int column, float x, float y) {
    *reinterpret_cast<float2*>(plane + static_cast<size_t>(row) * n + column) = make_float2(x, y);
  };
  Tile::multiply({a + begin, m, length, k}, {b + static_cast<size_t>(begin) * n, length, n, n}, blockIdx.y * Tile::kM,
                 blockIdx.x * Tile::kN, store);
}

// Two elements a thread; `pairs` of them.
__global__ void sum_planes(const float2* __restrict__ planes, uint32_t* __restrict__ c, int pairs, int parts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll 4
  for (int part = 0; part < parts; ++part) {
    const float2 x = planes[static_cast<size_t>(part) * pairs + i];
    sum.x += x.x;
    sum.y += x.y;
  }
  c[i] = kw::pack_half2(sum.x, sum.y);
}

}  // namespace

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int m = static_cast<int>(a.shape(0)), k = static_cast<int>(a.shape(1)), n = static_cast<int>(b.shape(1));
  // Enough blocks for two on each of 108 multiprocessors, but at least 256 of k for each.
  const int tiles = (m + Tile::kM - 1) / Tile::kM * ((n + Tile::kN - 1) / Tile::kN);
  const int wanted = std::clamp(216 / tiles, 1, std::max(1, k / 256));
  const int part = ((k + wanted - 1) / wanted + Tile::kK - 1) / Tile::kK * Tile::kK;
  const int parts = (k + part - 1) / part;
  float* planes = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&planes), static_cast<size_t>(parts) * m * n * sizeof(float), stream);
  kw::launch_tiles<Tile>(&product_of_part, m, n, parts, stream, a.data<__half>(), b.data<__half>(), planes, m, n, k, part);
  const int pairs = m * n / 2;
  sum_planes<<<(pairs + 255) / 256, 256, 0, stream>>>(reinterpret_cast<const float2*>(planes), reinterpret_cast<uint32_t*>(c.data<__half>()),
                                                      pairs, parts);
  cudaFreeAsync(planes, stream);
}
