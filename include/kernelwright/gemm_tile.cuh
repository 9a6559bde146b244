// The body of a tensor-core matrix product for sm_80 and later: one block computes one tile of C = A·B, with A
// row-major and B either row-major (k rows) or column-major (n rows of k, as the weights of linear layers lie).
//
// Slices of A and B of 64 bytes of k pass through kStages stages of shared memory by asynchronous copies; the fragments
// of the next 32 bytes of k are read while those at hand are multiplied. Chunks of 16 bytes are permuted within a row
// so that the eight rows of an ldmatrix touch all banks once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernelwright/async_copy.cuh"
#include "kernelwright/mma.cuh"

namespace kw {

// rows × columns elements in device memory; a row begins `stride` elements after the one before.
template <typename T>
struct Matrix {
  const T* data;
  int rows, columns;
  int64_t stride;
};

// Any other operand is a type with `rows`, `columns` and load(row, column, chunk): elements from (row, column) on along
// the row into an array, zeros where the operand ends. So a convolution is a product with columns that lie nowhere.

enum class BLayout { kRows, kColumns };

// A tile of kM × kN, of which each warp computes kWarpM × kWarpN. kAligned: rows of A and B begin at multiples of 16
// bytes and their lengths are such; otherwise they are copied by elements.
template <typename T, BLayout kLayout, int kM_, int kN_, int kWarpM, int kWarpN, int kStages, bool kAligned = true>
struct GemmTile {
  static constexpr int kM = kM_, kN = kN_;
  static constexpr int kThreads = kM / kWarpM * (kN / kWarpN) * 32;
  static constexpr int kChunk = 16 / sizeof(T);  // elements
  static constexpr int kK = 4 * kChunk;
  static constexpr int kStageElements = (kM + kN) * kK;
  static constexpr int kSharedBytes = kStages * kStageElements * static_cast<int>(sizeof(T));
  static constexpr int kFragmentsM = kWarpM / 16, kFragmentsN = kWarpN / 8;
  static_assert(kLayout == BLayout::kColumns || sizeof(T) == 2, "ldmatrix transposes 16-bit elements only");
  static_assert(kLayout == BLayout::kColumns || kN >= 64, "rows of B are permuted by eight chunks");
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "fragments are loaded in pairs");
  using Accumulator = typename Product<T>::Accumulator;

  // Calls store(row, column, x, y) for every pair of neighbours of the tile at (m0, n0) whose first lies within C, x being
  // the element at (row, column) and y the next one. All threads of the block call it together, with kSharedBytes of
  // dynamic shared memory.
  template <typename A = Matrix<T>, typename B = Matrix<T>, typename Store>
  __device__ static void multiply(const A& a, const B& b, int m0, int n0, const Store& store) {
    extern __shared__ __align__(128) unsigned char gemm_stages[];
    T* stages = reinterpret_cast<T*>(gemm_stages);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_m = warp / (kN / kWarpN) * kWarpM, warp_n = warp % (kN / kWarpN) * kWarpN;
    const int steps = (a.columns + kK - 1) / kK;

#pragma unroll
    for (int s = 0; s < kStages - 1; ++s) {
      if (s < steps) load_stage(stages + s * kStageElements, a, b, m0, n0, s * kK);
      cp_async_commit();
    }

    Accumulator acc[kFragmentsM][kFragmentsN][4] = {};
    uint32_t fa[2][kFragmentsM][4], fb[2][kFragmentsN / 2][4];  // two sets: one in use, one arriving
    const auto load_fragments = [&](int set, T* stage, int kk) {
      load_a(fa[set], stage, warp_m, kk, lane);
      load_b(fb[set], stage + kM * kK, warp_n, kk, lane);
    };

    cp_async_wait<kStages - 2>();
    __syncthreads();
    load_fragments(0, stages, 0);
    for (int step = 0; step < steps; ++step) {
      // Everyone is done with the stage before this one: it is loaded next.
      const int ahead = step + kStages - 1;
      if (ahead < steps) load_stage(stages + ahead % kStages * kStageElements, a, b, m0, n0, ahead * kK);
      cp_async_commit();

#pragma unroll
      for (int kk = 0; kk < 2; ++kk) {
        if (kk == 0) {
          load_fragments(1, stages + step % kStages * kStageElements, 1);
        } else {
          cp_async_wait<kStages - 2>();
          __syncthreads();  // the next stage has arrived for everyone
          if (step + 1 < steps) load_fragments(0, stages + (step + 1) % kStages * kStageElements, 0);
        }
#pragma unroll
        for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
          for (int j = 0; j < kFragmentsN; ++j) {
            Product<T>::add(acc[i][j], fa[kk][i], fb[kk][j / 2][j % 2 * 2], fb[kk][j / 2][j % 2 * 2 + 1]);
          }
        }
      }
    }

    const int c_columns = kLayout == BLayout::kColumns ? b.rows : b.columns;
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = m0 + warp_m + i * 16 + g + half * 8;
        if (row >= a.rows) continue;
#pragma unroll
        for (int j = 0; j < kFragmentsN; ++j) {
          const int column = n0 + warp_n + j * 8 + t * 2;
          if (column < c_columns) store(row, column, acc[i][j][half * 2], acc[i][j][half * 2 + 1]);
        }
      }
    }
  }

 private:
  // Rows of k hold four chunks (64 bytes), two rows to a line of banks; rows of n hold kN / 8 chunks.
  __device__ static int k_row_offset(int row, int chunk) { return row * kK + (chunk ^ (row / 2 % 4)) * kChunk; }
  __device__ static int n_row_offset(int row, int chunk) { return row * kN + (chunk ^ (row % 8)) * kChunk; }

  struct alignas(16) Chunk {
    T at[kChunk];
  };

  template <typename Source>
  __device__ static void copy_chunk(T* shared, const Source& from, int row, int column) {
    Chunk chunk;
    from.load(row, column, chunk.at);
    *reinterpret_cast<Chunk*>(shared) = chunk;
  }

  // One chunk to shared memory, zeros where the matrix ends.
  __device__ static void copy_chunk(T* shared, const Matrix<T>& from, int row, int column) {
    const int left = row < from.rows ? from.columns - column : 0;
    const T* source = left > 0 ? from.data + row * from.stride + column : from.data;
    if constexpr (kAligned) {
      cp_async_16(shared, source, left > 0);
    } else {
      Chunk chunk;
#pragma unroll
      for (int i = 0; i < kChunk; ++i) chunk.at[i] = i < left ? source[i] : T(0.0f);
      *reinterpret_cast<Chunk*>(shared) = chunk;
    }
  }

  template <typename A, typename B>
  __device__ static void load_stage(T* stage, const A& a, const B& b, int m0, int n0, int k0) {
#pragma unroll
    for (int i = 0; i < (kM * 4 + kThreads - 1) / kThreads; ++i) {
      const int index = i * kThreads + threadIdx.x, row = index / 4, chunk = index % 4;
      if (kM * 4 % kThreads != 0 && index >= kM * 4) break;
      copy_chunk(stage + k_row_offset(row, chunk), a, m0 + row, k0 + chunk * kChunk);
    }
    T* b_stage = stage + kM * kK;
#pragma unroll
    for (int i = 0; i < (kN * 4 + kThreads - 1) / kThreads; ++i) {
      const int index = i * kThreads + threadIdx.x;
      if (kN * 4 % kThreads != 0 && index >= kN * 4) break;
      if constexpr (kLayout == BLayout::kColumns) {
        const int row = index / 4, chunk = index % 4;
        copy_chunk(b_stage + k_row_offset(row, chunk), b, n0 + row, k0 + chunk * kChunk);
      } else {
        const int row = index / (kN / kChunk), chunk = index % (kN / kChunk);
        copy_chunk(b_stage + n_row_offset(row, chunk), b, k0 + row, n0 + chunk * kChunk);
      }
    }
  }

  __device__ static void load_a(uint32_t (&f)[kFragmentsM][4], T* stage, int warp_m, int kk, int lane) {
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
      ldmatrix_x4(f[i], stage + k_row_offset(warp_m + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
      for (int r = 0; r < 4; ++r) f[i][r] = Product<T>::ready(f[i][r]);
    }
  }

  // f[i] holds the two registers of columns 16 i to 16 i + 7, then those of the next eight.
  __device__ static void load_b(uint32_t (&f)[kFragmentsN / 2][4], T* stage, int warp_n, int kk, int lane) {
#pragma unroll
    for (int i = 0; i < kFragmentsN / 2; ++i) {
      if constexpr (kLayout == BLayout::kColumns) {
        ldmatrix_x4(f[i], stage + k_row_offset(warp_n + i * 16 + lane % 8 + lane / 16 * 8, kk * 2 + lane / 8 % 2));
      } else {
        ldmatrix_x4_trans(f[i], stage + n_row_offset(kk * 16 + lane % 16, warp_n / 8 + i * 2 + lane / 16));
      }
#pragma unroll
      for (int r = 0; r < 4; ++r) f[i][r] = Product<T>::ready(f[i][r]);
    }
  }
};

// Launches kernel<<<…>>> over the tiles of an m × n result, `batch` of them along z.
template <typename Tile, typename... Parameters, typename... Arguments>
void launch_tiles(void (*kernel)(Parameters...), int m, int n, int batch, cudaStream_t stream, Arguments... arguments) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes);
  const dim3 grid((n + Tile::kN - 1) / Tile::kN, (m + Tile::kM - 1) / Tile::kM, batch);
  kernel<<<grid, Tile::kThreads, Tile::kSharedBytes, stream>>>(arguments...);
}

}  // namespace kw
