// Rows of X, sorted into groups, times the weights of their group: Y[rows of e] = X[rows of e]·W[e]ᵀ; bf16 in and out,
// fp32 accumulation, row-major, for sm_80 and later.
//
// The host does not know where groups begin, so it launches as many row tiles as there can be, a partial one for each
// group; every block finds its group by walking the boundaries. A block of four warps computes 128×128, a warp 64×64
// (kernelwright/gemm_tile.cuh).
#include <kernelwright/candidate.h>
#include <kernelwright/gemm_tile.cuh>

namespace {

using Element = __nv_bfloat16;
using Tile = kw::GemmTile<Element, kw::BLayout::kColumns, 128, 128, 64, 64, 4>;

// Group e ends where group e + 1 begins, at ends[e]; the last one ends with X.
__global__ void __launch_bounds__(Tile::kThreads, 2)
    gemm_grouped_sm80(const Element* __restrict__ x, const Element* __restrict__ w, const int32_t* __restrict__ ends,
                      Element* __restrict__ y, int rows, int groups, int n, int k) {
  int group = 0, begin = 0, end = 0, tile = blockIdx.y;
  for (;; ++group, begin = end) {
    if (group == groups) return;
    end = group + 1 < groups ? max(begin, min(ends[group], rows)) : rows;
    const int tiles = (end - begin + Tile::kM - 1) / Tile::kM;
    if (tile < tiles) break;
    tile -= tiles;
  }
  x += static_cast<size_t>(begin) * k;
  y += static_cast<size_t>(begin) * n;
  w += static_cast<size_t>(group) * n * k;
  const auto store = [&](int row, int column, float u, float v) {
    *reinterpret_cast<uint32_t*>(y + static_cast<size_t>(row) * n + column) = kw::pack_pair<Element>(u, v);
  };
  Tile::multiply({x, end - begin, k, k}, {w, n, k, k}, tile * Tile::kM, blockIdx.x * Tile::kN, store);
}

}  // namespace

KW_ENTRY(kw::In x, kw::In w, kw::In ends, kw::Out y, cudaStream_t stream) {
  const int rows = static_cast<int>(x.shape(0)), k = static_cast<int>(x.shape(1));
  const int groups = static_cast<int>(w.shape(0)), n = static_cast<int>(w.shape(1));
  const int most_rows = rows + (groups - 1) * Tile::kM;  // every group but one wastes less than a tile
  kw::launch_tiles<Tile>(&gemm_grouped_sm80, most_rows, n, 1, stream, x.data<Element>(), w.data<Element>(),
                         ends.data<int32_t>(), y.data<Element>(), rows, groups, n, k);
}
