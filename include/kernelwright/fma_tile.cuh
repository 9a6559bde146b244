// The body of a matrix product on the ordinary cores: one block computes one tile of C = A·B in fp32, whatever the types of A and B are and
// whichever of their axes lies side by side. The counterpart of GemmTile (kernelwright/gemm_tile.cuh), called in the same way.
//
// Slices of kK of k alternate between two stages of shared memory, as fp32 and with k outermost; the slice after the one that is multiplied
// waits in registers. A thread computes kThreadM × kThreadN of C as runs of four rows by four columns, so that it reads 16 bytes at once.
#pragma once

#include "kernelwright/gemm_tile.cuh"
#include "kernelwright/pack.cuh"

namespace kw {

// kAcross: rows of the matrix in memory are those of k, so that neighbours lie across it; otherwise a row runs along k.
template <typename T, bool kAcross, int kOuter, int kK, int kThreads, bool kAligned>
struct FmaSlice {
  static constexpr int kVector = kAligned ? 16 / sizeof(T) : 1;
  static constexpr int kStride = kOuter + 4;   // floats
  static constexpr int kPacks = kOuter * kK / kVector, kEach = (kPacks + kThreads - 1) / kThreads;
  static_assert(kK % kVector == 0 && kOuter % kVector == 0, "packs fill the slice");

  Pack<T, kVector> waiting[kEach];

  __device__ void read(const Matrix<T>& from, int outer0, int k0) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int pack = i * kThreads + threadIdx.x;
      const int row = (kAcross ? k0 : outer0) + pack / kPerRow, column = (kAcross ? outer0 : k0) + pack % kPerRow * kVector;
      if (pack < kPacks && row < from.rows && column < from.columns) {
        waiting[i] = *reinterpret_cast<const Pack<T, kVector>*>(from.data + row * from.stride + column);
      } else {
#pragma unroll
        for (int e = 0; e < kVector; ++e) waiting[i].at[e] = from_float<T>(0.0f);
      }
    }
  }

  __device__ void write(float* stage) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int pack = i * kThreads + threadIdx.x;
      if (pack >= kPacks) break;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const int row = pack / kPerRow, column = pack % kPerRow * kVector + e;
        stage[kAcross ? row * kStride + column : column * kStride + row] = to_float(waiting[i].at[e]);
      }
    }
  }

 private:
  static constexpr int kPerRow = (kAcross ? kOuter : kK) / kVector;
};

// kAAcross: A lies as its transpose does. kAligned: rows of A and B begin at multiples of 16 bytes and their lengths are such.
template <typename TA, bool kAAcross, typename TB, BLayout kLayout, int kM_, int kN_, int kK, int kThreadM, int kThreadN, bool kAligned>
struct FmaTile {
  static constexpr int kM = kM_, kN = kN_;
  static constexpr int kThreadsM = kM / kThreadM, kThreadsN = kN / kThreadN, kThreads = kThreadsM * kThreadsN;
  static_assert(kThreadM % 4 == 0 && kThreadN % 4 == 0, "runs of four");
  using SliceA = FmaSlice<TA, kAAcross, kM, kK, kThreads, kAligned>;
  using SliceB = FmaSlice<TB, kLayout == BLayout::kRows, kN, kK, kThreads, kAligned>;
  static constexpr int kStageFloats = kK * (SliceA::kStride + SliceB::kStride);
  static constexpr int kSharedBytes = 2 * kStageFloats * static_cast<int>(sizeof(float));

  // Calls store(row, column, x, y) as GemmTile::multiply does.
  template <typename Store>
  __device__ static void multiply(const Matrix<TA>& a, const Matrix<TB>& b, int m0, int n0, const Store& store) {
    extern __shared__ __align__(128) unsigned char gemm_stages[];
    float* stages = reinterpret_cast<float*>(gemm_stages);
    const int first_row = threadIdx.x / kThreadsN * 4, first_column = threadIdx.x % kThreadsN * 4;
    const int k = kAAcross ? a.rows : a.columns, steps = (k + kK - 1) / kK;
    SliceA slice_a;
    SliceB slice_b;
    slice_a.read(a, m0, 0);
    slice_b.read(b, n0, 0);
    slice_a.write(stages);
    slice_b.write(stages + kK * SliceA::kStride);

    float acc[kThreadM][kThreadN] = {};
    for (int step = 0; step < steps; ++step) {
      const float* stage_a = stages + step % 2 * kStageFloats;
      const float* stage_b = stage_a + kK * SliceA::kStride;
      __syncthreads();  // this stage is there for everyone, and everyone is done with the other one
      const bool more = step + 1 < steps;
      if (more) {
        slice_a.read(a, m0, (step + 1) * kK);
        slice_b.read(b, n0, (step + 1) * kK);
      }
#pragma unroll
      for (int kk = 0; kk < kK; ++kk) {
        float x[kThreadM], y[kThreadN];
        read_runs<kThreadM, kThreadsM>(x, stage_a + kk * SliceA::kStride + first_row);
        read_runs<kThreadN, kThreadsN>(y, stage_b + kk * SliceB::kStride + first_column);
#pragma unroll
        for (int i = 0; i < kThreadM; ++i) {
#pragma unroll
          for (int j = 0; j < kThreadN; ++j) acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
        }
      }
      if (more) {
        float* next = stages + (step + 1) % 2 * kStageFloats;
        slice_a.write(next);
        slice_b.write(next + kK * SliceA::kStride);
      }
    }

    const int rows = kAAcross ? a.columns : a.rows, columns = kLayout == BLayout::kColumns ? b.rows : b.columns;
#pragma unroll
    for (int i = 0; i < kThreadM; ++i) {
      const int row = m0 + first_row + i / 4 * (4 * kThreadsM) + i % 4;
      if (row >= rows) continue;
#pragma unroll
      for (int j = 0; j < kThreadN; j += 2) {
        const int column = n0 + first_column + j / 4 * (4 * kThreadsN) + j % 4;
        if (column < columns) store(row, column, acc[i][j], acc[i][j + 1]);
      }
    }
  }

 private:
  template <int kCount, int kThreadsAlong>
  __device__ static void read_runs(float (&to)[kCount], const float* from) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const float4 run = *reinterpret_cast<const float4*>(from + i * kThreadsAlong);
      to[i] = run.x, to[i + 1] = run.y, to[i + 2] = run.z, to[i + 3] = run.w;
    }
  }
};

}  // namespace kw
