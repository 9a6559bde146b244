// Attention forward, softmax(Q·Kᵀ/√D)·V, fp16 in and out, fp32 inside, head dimension 64, for sm_80 and later.
//
// One block of four warps computes 64 query rows of one head; each warp owns 16 of them and keeps their
// queries, scores, running maximum, running sum and outputs in registers. Keys and values stream through
// shared memory in tiles of 64 rows, two stages each, by asynchronous copies: while the scores of tile j are
// computed, the keys of tile j+1 are on their way, and likewise the values. Softmax is computed online
// (Milakov and Gimelshein, 2018; Dao, FlashAttention-2, 2023).
//
// Shared tiles have rows of 128 bytes, eight 16-byte chunks; chunk c of row r lies at c ^ (r % 8), so that the
// eight rows of an ldmatrix touch all banks once.
#include <kernelwright/candidate.h>
#include <kernelwright/mma.cuh>

namespace {

constexpr int kD = 64;
constexpr int kRows = 64;     // queries of a block, and keys of a tile
constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kChunks = kD / 8;

using Tile = __half[kRows * kD];

__device__ __half* chunk_of(__half* tile, int row, int chunk) { return tile + row * kD + ((chunk ^ (row % 8)) * 8); }

// Rows at or beyond `rows` become zero.
__device__ void load_tile(__half* tile, const __half* source, int rows) {
#pragma unroll
  for (int i = 0; i < kRows * kChunks / kThreads; ++i) {
    const int index = i * kThreads + threadIdx.x;
    const int row = index / kChunks, chunk = index % kChunks;
    const bool valid = row < rows;
    kw::cp_async_16(chunk_of(tile, row, chunk), source + (valid ? row * kD + chunk * 8 : 0), valid);
  }
}

__global__ void __launch_bounds__(kThreads) attention_sm80(const __half* __restrict__ q, const __half* __restrict__ k,
                                                           const __half* __restrict__ v, __half* __restrict__ o, int length,
                                                           float scale_log2) {
  __shared__ __align__(128) Tile q_tile;
  __shared__ __align__(128) Tile k_tile[2];
  __shared__ __align__(128) Tile v_tile[2];

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int g = lane / 4, t = lane % 4;
  const int first_row = blockIdx.x * kRows;
  const size_t head = static_cast<size_t>(blockIdx.y) * length * kD;
  q += head + static_cast<size_t>(first_row) * kD;
  k += head;
  v += head;
  o += head + static_cast<size_t>(first_row) * kD;

  load_tile(q_tile, q, length - first_row);
  load_tile(k_tile[0], k, length);
  kw::cp_async_commit();
  load_tile(v_tile[0], v, length);
  kw::cp_async_commit();

  uint32_t q_fragment[kD / 16][4];
  float out[kD / 8][4] = {};
  float row_max[2] = {-INFINITY, -INFINITY}, row_sum[2] = {0.0f, 0.0f};

  const int tiles = (length + kRows - 1) / kRows;
  for (int j = 0; j < tiles; ++j) {
    const int next = (j + 1) % 2, here = j % 2;
    const int left = length - (j + 1) * kRows;  // keys after this tile

    kw::cp_async_wait<1>();  // the keys of this tile (and, the first time, the queries)
    __syncthreads();
    if (left > 0) load_tile(k_tile[next], k + static_cast<size_t>(j + 1) * kRows * kD, left);
    kw::cp_async_commit();
    if (j == 0) {
#pragma unroll
      for (int kk = 0; kk < kD / 16; ++kk) {
        kw::ldmatrix_x4(q_fragment[kk], chunk_of(q_tile, warp * 16 + lane % 16, kk * 2 + lane / 16));
      }
    }

    // Scores of 16 rows by 64 keys.
    float score[kRows / 8][4] = {};
#pragma unroll
    for (int kk = 0; kk < kD / 16; ++kk) {
#pragma unroll
      for (int n = 0; n < kRows / 8; n += 2) {
        uint32_t b[4];
        kw::ldmatrix_x4(b, chunk_of(k_tile[here], n * 8 + lane % 8 + (lane / 16) * 8, kk * 2 + (lane / 8) % 2));
        kw::mma_16x8x16(score[n], q_fragment[kk], b[0], b[1]);
        kw::mma_16x8x16(score[n + 1], q_fragment[kk], b[2], b[3]);
      }
    }
    if (left < 0) {  // the last tile is partial: its missing keys must not take part
#pragma unroll
      for (int n = 0; n < kRows / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (j * kRows + n * 8 + t * 2 + i % 2 >= length) score[n][i] = -INFINITY;
        }
      }
    }

    // Online softmax; half 0 is row g of the warp's 16, half 1 is row g + 8.
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = row_max[half];
#pragma unroll
      for (int n = 0; n < kRows / 8; ++n) largest = fmaxf(largest, fmaxf(score[n][half * 2], score[n][half * 2 + 1]));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
      const float rescale = exp2f((row_max[half] - largest) * scale_log2);
      row_max[half] = largest;
      row_sum[half] *= rescale;
      const float shift = largest * scale_log2;
#pragma unroll
      for (int n = 0; n < kRows / 8; ++n) {
#pragma unroll
        for (int i = half * 2; i < half * 2 + 2; ++i) {
          score[n][i] = exp2f(score[n][i] * scale_log2 - shift);
          row_sum[half] += score[n][i];
        }
      }
#pragma unroll
      for (int n = 0; n < kD / 8; ++n) {
        out[n][half * 2] *= rescale;
        out[n][half * 2 + 1] *= rescale;
      }
    }

    kw::cp_async_wait<1>();  // the values of this tile
    __syncthreads();
    if (left > 0) load_tile(v_tile[next], v + static_cast<size_t>(j + 1) * kRows * kD, left);
    kw::cp_async_commit();

    // The accumulator layout of two score tiles is the operand layout of one 16×16 product.
#pragma unroll
    for (int kk = 0; kk < kRows / 16; ++kk) {
      const float(&low)[4] = score[kk * 2];
      const float(&high)[4] = score[kk * 2 + 1];
      const uint32_t a[4] = {kw::pack_half2(low[0], low[1]), kw::pack_half2(low[2], low[3]), kw::pack_half2(high[0], high[1]),
                             kw::pack_half2(high[2], high[3])};
#pragma unroll
      for (int n = 0; n < kD / 8; n += 2) {
        uint32_t b[4];
        kw::ldmatrix_x4_trans(b, chunk_of(v_tile[here], kk * 16 + lane % 16, n + lane / 16));
        kw::mma_16x8x16(out[n], a, b[0], b[1]);
        kw::mma_16x8x16(out[n + 1], a, b[2], b[3]);
      }
    }
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = row_sum[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const float inverse = 1.0f / sum;
    const int row = warp * 16 + g + half * 8;
    if (first_row + row >= length) continue;
#pragma unroll
    for (int n = 0; n < kD / 8; ++n) {
      *reinterpret_cast<uint32_t*>(o + row * kD + n * 8 + t * 2) =
          kw::pack_half2(out[n][half * 2] * inverse, out[n][half * 2 + 1] * inverse);
    }
  }
}

}  // namespace

KW_ENTRY(kw::In q, kw::In k, kw::In v, kw::Out o, cudaStream_t stream) {
  const int heads = static_cast<int>(q.shape(0) * q.shape(1)), length = static_cast<int>(q.shape(2));
  const dim3 grid((length + kRows - 1) / kRows, heads);
  constexpr float kLog2e = 1.4426950408889634f;
  const float scale_log2 = kLog2e / 8.0f;  // 1/√64, for exp2
  attention_sm80<<<grid, kThreads, 0, stream>>>(q.data<__half>(), k.data<__half>(), v.data<__half>(), o.data<__half>(), length,
                                               scale_log2);
}
