// The body of attention forward, softmax(scores)·V with scores made from Q·Kᵀ, for sm_80 and later; fp16 or bf16 in and
// out, fp32 inside.
//
// One block computes 16 query rows of one head for each of its warps, which keeps their queries, scores, running
// maximum, running sum and outputs in registers. Keys and values stream through shared memory in tiles of kKeys rows,
// two stages each, by asynchronous copies: while the scores of tile j are computed, the keys of
// tile j+1 are on their way, and likewise the values. Softmax is computed online (Milakov and Gimelshein, 2018; Dao,
// FlashAttention-2, 2023).
//
// Chunk c of 16 bytes of row r of a shared tile lies at c ^ (r % 8), so that the eight rows of an ldmatrix touch all
// banks once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernelwright/async_copy.cuh"
#include "kernelwright/mma.cuh"

namespace kw {

inline constexpr float kLog2e = 1.4426950408889634f;

// Every query sees every key.
struct AllKeys {
  int keys;
  __device__ int visible(int) const { return keys; }
};

// Query `row` sees keys up to its own position; the last query's position is the last key's.
struct CausalKeys {
  int queries, keys;
  __device__ int visible(int row) const { return min(keys, row + 1 + keys - queries); }
};

// Scores are the products themselves.
struct ProductScores {
  __device__ float operator()(float product, int, int) const { return product; }
};

// One head. Rows of q, k, v and o follow each other without gaps.
template <typename T>
struct AttentionHead {
  const T *q, *k, *v;
  T* o;
  int queries, keys;
};

// kMasked: scores may be -infinity.
template <typename T, int kD, int kWarps = 4, int kKeys = 64, bool kMasked = false>
struct AttentionTile {
  static constexpr int kRows = 16 * kWarps;  // queries of a block
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kChunks = kD / 8;  // of a row
  static constexpr int kTileElements = kKeys * kD;
  static constexpr int kSharedBytes = (kRows + 4 * kKeys) * kD * static_cast<int>(sizeof(T));
  static_assert(kD % 64 == 0, "a row covers all banks");
  static_assert(kKeys % 16 == 0 && kKeys * kChunks % kThreads == 0, "every thread copies equally many chunks");

  // Computes the queries from first_row on. `seen.visible(row)` is the number of keys, from the first, that a query
  // sees: at least one, and not falling with the row. `score(product, row, key)` is finite, or -infinity with kMasked; the softmax is of
  // score · scale. All threads of the block call it together, with kSharedBytes of dynamic shared memory.
  template <typename Visibility, typename Score>
  __device__ static void forward(const AttentionHead<T>& head, int first_row, float scale, const Visibility& seen, const Score& score) {
    extern __shared__ __align__(128) unsigned char attention_tiles[];
    T* q_tile = reinterpret_cast<T*>(attention_tiles);
    T* k_tiles = q_tile + kRows * kD;
    T* v_tiles = k_tiles + 2 * kTileElements;

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int g = lane / 4, t = lane % 4;
    const int last_row = min(first_row + kRows, head.queries) - 1;
    const int needed = seen.visible(last_row);  // keys that some query of the block sees
    const float scale_log2 = scale * kLog2e;

    load_tile<kRows>(q_tile, head.q, first_row, head.queries);
    load_tile<kKeys>(k_tiles, head.k, 0, needed);
    cp_async_commit();
    load_tile<kKeys>(v_tiles, head.v, 0, needed);
    cp_async_commit();

    uint32_t q_fragment[kD / 16][4];
    float out[kD / 8][4] = {};
    float row_max[2] = {-INFINITY, -INFINITY}, row_sum[2] = {0.0f, 0.0f};
    const int row[2] = {first_row + warp * 16 + g, first_row + warp * 16 + g + 8};
    const int limit[2] = {seen.visible(min(row[0], last_row)), seen.visible(min(row[1], last_row))};
    const int everyone_sees = seen.visible(first_row);

    const int tiles = (needed + kKeys - 1) / kKeys;
    for (int j = 0; j < tiles; ++j) {
      T* k_tile = k_tiles + j % 2 * kTileElements;
      T* v_tile = v_tiles + j % 2 * kTileElements;
      const int next = (j + 1) % 2 * kTileElements, first_key = j * kKeys;

      cp_async_wait<1>();  // the keys of this tile (and, the first time, the queries)
      __syncthreads();
      if (j + 1 < tiles) load_tile<kKeys>(k_tiles + next, head.k, first_key + kKeys, needed);
      cp_async_commit();
      if (j == 0) {
#pragma unroll
        for (int kk = 0; kk < kD / 16; ++kk) ldmatrix_x4(q_fragment[kk], chunk_of(q_tile, warp * 16 + lane % 16, kk * 2 + lane / 16));
      }

      // Scores of 16 rows by kKeys keys.
      float s[kKeys / 8][4] = {};
#pragma unroll
      for (int kk = 0; kk < kD / 16; ++kk) {
#pragma unroll
        for (int n = 0; n < kKeys / 8; n += 2) {
          uint32_t b[4];
          ldmatrix_x4(b, chunk_of(k_tile, n * 8 + lane % 8 + lane / 16 * 8, kk * 2 + lane / 8 % 2));
          Product<T>::add(s[n], q_fragment[kk], b[0], b[1]);
          Product<T>::add(s[n + 1], q_fragment[kk], b[2], b[3]);
        }
      }
      const bool partial = first_key + kKeys > everyone_sees;
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int key = first_key + n * 8 + t * 2 + i % 2;
          if (partial && key >= limit[i / 2]) {
            s[n][i] = -INFINITY;
          } else {
            s[n][i] = score(s[n][i], row[i / 2], key);
          }
        }
      }
      soften(s, out, row_max, row_sum, scale_log2);

      cp_async_wait<1>();  // the values of this tile
      __syncthreads();
      if (j + 1 < tiles) load_tile<kKeys>(v_tiles + next, head.v, first_key + kKeys, needed);
      cp_async_commit();

      // The accumulator layout of two score tiles is the operand layout of one 16×16 product.
#pragma unroll
      for (int kk = 0; kk < kKeys / 16; ++kk) {
        const float(&low)[4] = s[kk * 2];
        const float(&high)[4] = s[kk * 2 + 1];
        const uint32_t a[4] = {pack_pair<T>(low[0], low[1]), pack_pair<T>(low[2], low[3]), pack_pair<T>(high[0], high[1]),
                               pack_pair<T>(high[2], high[3])};
#pragma unroll
        for (int n = 0; n < kD / 8; n += 2) {
          uint32_t b[4];
          ldmatrix_x4_trans(b, chunk_of(v_tile, kk * 16 + lane % 16, n + lane / 16));
          Product<T>::add(out[n], a, b[0], b[1]);
          Product<T>::add(out[n + 1], a, b[2], b[3]);
        }
      }
    }

#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = row_sum[half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const float inverse = 1.0f / sum;
      if (row[half] >= head.queries) continue;
      T* o = head.o + static_cast<size_t>(row[half]) * kD + t * 2;
#pragma unroll
      for (int n = 0; n < kD / 8; ++n) {
        *reinterpret_cast<uint32_t*>(o + n * 8) = pack_pair<T>(out[n][half * 2] * inverse, out[n][half * 2 + 1] * inverse);
      }
    }
  }

 private:
  __device__ static T* chunk_of(T* tile, int row, int chunk) { return tile + row * kD + (chunk ^ (row % 8)) * 8; }

  // Rows first to first + kCount - 1 of a matrix; those at or beyond `rows` become zero.
  template <int kCount>
  __device__ static void load_tile(T* tile, const T* source, int first, int rows) {
#pragma unroll
    for (int i = 0; i < kCount * kChunks / kThreads; ++i) {
      const int index = i * kThreads + threadIdx.x, row = index / kChunks, chunk = index % kChunks;
      const bool valid = first + row < rows;
      cp_async_16(chunk_of(tile, row, chunk), valid ? source + static_cast<size_t>(first + row) * kD + chunk * 8 : source, valid);
    }
  }

  // Online softmax: scores become numerators under the new maximum, sums and outputs are rescaled to it. Half 0 is row g
  // of the warp's 16, half 1 is row g + 8.
  __device__ static void soften(float (&s)[kKeys / 8][4], float (&out)[kD / 8][4], float (&row_max)[2], float (&row_sum)[2],
                                float scale_log2) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = row_max[half];
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) largest = fmaxf(largest, fmaxf(s[n][half * 2], s[n][half * 2 + 1]));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
      const float finite = kMasked && largest == -INFINITY ? 0.0f : largest;  // no key was seen yet: exp2(-infinity - 0) is 0
      const float rescale = exp2f((row_max[half] - finite) * scale_log2);
      row_max[half] = largest;
      row_sum[half] *= rescale;
      const float shift = finite * scale_log2;
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int i = half * 2; i < half * 2 + 2; ++i) {
          s[n][i] = exp2f(s[n][i] * scale_log2 - shift);
          row_sum[half] += s[n][i];
        }
      }
#pragma unroll
      for (int n = 0; n < kD / 8; ++n) {
        out[n][half * 2] *= rescale;
        out[n][half * 2 + 1] *= rescale;
      }
    }
  }
};

// Launches kernel<<<…>>> with a block for every kRows queries of every head.
template <typename Tile, typename... Parameters, typename... Arguments>
void launch_attention(void (*kernel)(Parameters...), int queries, int64_t heads, cudaStream_t stream, Arguments... arguments) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes);
  const dim3 grid((queries + Tile::kRows - 1) / Tile::kRows, static_cast<unsigned>(heads));
  kernel<<<grid, Tile::kThreads, Tile::kSharedBytes, stream>>>(arguments...);
}

}  // namespace kw
