// Attention of one query a sequence over a long cache of keys and values (decoding), split over the keys so that few
// sequences fill the GPU (Dao et al., "Flash-Decoding", 2023); fp16 or bf16 in and out, fp32 inside.
//
// A block of four warps takes one part of the keys of one key head, for all the kGroup query heads that share it, so that
// the cache is read once. Half a warp takes a key: its 16 lanes hold kD / 16 elements of each query and of the outputs in
// registers. Each half warp keeps a running maximum, sum and outputs; they are merged through shared memory into one partial result a block and query, and
// `merge_parts` makes the output of the parts.
//
// Where key i lies is the caller's to say: `place(i)` is the index of its row of kD elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernelwright/pack.cuh"

namespace kw {

// One part's result for one query: the largest score, the sum of numerators under it, the weighted sum of values.
// In units of log 2. An empty part has maximum -inf and sum 0.
template <int kD>
struct DecodePart {
  float maximum, sum;
  float out[kD];
};

template <typename T, int kD, int kGroup>
struct DecodeAttention {
  static constexpr int kWarps = 4, kThreads = 32 * kWarps;
  static constexpr int kLanes = 16;               // that share a key
  static constexpr int kEach = kD / kLanes;       // elements a lane
  static constexpr int kStreams = kThreads / kLanes;
  static constexpr int kPart = 256;               // keys a block
  static_assert(kEach * sizeof(T) == 16, "a lane reads 16 bytes of a row");
  using Part = DecodePart<kD>;
  using Row = Pack<T, kEach>;

  // q: kGroup rows of kD. Keys `begin` to `end`. parts[i * stride] receives the result of query i.
  template <typename Place>
  __device__ static void attend(const T* q, const T* k, const T* v, int begin, int end, float scale_log2, const Place& place,
                                Part* parts, int stride) {
    __shared__ float maxima[kStreams][kGroup], sums[kStreams][kGroup];
    __shared__ __align__(16) float outs[kStreams][kD];
    const int stream = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;

    float query[kGroup][kEach], out[kGroup][kEach] = {}, maximum[kGroup], sum[kGroup];
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      const Row row = reinterpret_cast<const Row*>(q + i * kD)[lane];
#pragma unroll
      for (int e = 0; e < kEach; ++e) query[i][e] = to_float(row.at[e]) * scale_log2;
      maximum[i] = -INFINITY;
      sum[i] = 0.0f;
    }

    // All lanes of a warp make the same number of turns, because they exchange sums.
    const int turns = (end - begin + kStreams - 1) / kStreams;
#pragma unroll 2
    for (int turn = 0; turn < turns; ++turn) {
      const int key = begin + turn * kStreams + stream;
      const bool inside = key < end;
      const int64_t row = place(inside ? key : begin);
      const Row k_row = reinterpret_cast<const Row*>(k + row * kD)[lane];
      const Row v_row = reinterpret_cast<const Row*>(v + row * kD)[lane];
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        float score = 0.0f;
#pragma unroll
        for (int e = 0; e < kEach; ++e) score = fmaf(query[i][e], to_float(k_row.at[e]), score);
#pragma unroll
        for (int distance = kLanes / 2; distance > 0; distance /= 2) score += __shfl_xor_sync(0xffffffffu, score, distance);
        if (!inside) continue;
        const float largest = fmaxf(maximum[i], score);
        const float rescale = exp2f(maximum[i] - largest), weight = exp2f(score - largest);
        maximum[i] = largest;
        sum[i] = fmaf(sum[i], rescale, weight);
#pragma unroll
        for (int e = 0; e < kEach; ++e) out[i][e] = fmaf(out[i][e], rescale, weight * to_float(v_row.at[e]));
      }
    }

    if (lane == 0) {
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        maxima[stream][i] = maximum[i];
        sums[stream][i] = sum[i];
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      float largest = -INFINITY, total = 0.0f;
#pragma unroll
      for (int s = 0; s < kStreams; ++s) largest = fmaxf(largest, maxima[s][i]);
#pragma unroll
      for (int s = 0; s < kStreams; ++s) total += sums[s][i] * weight_of(maxima[s][i], largest);
      const float rescale = weight_of(maximum[i], largest);
#pragma unroll
      for (int e = 0; e < kEach; ++e) outs[stream][lane * kEach + e] = out[i][e] * rescale;
      __syncthreads();
      Part& part = parts[static_cast<size_t>(i) * stride];
      for (int d = threadIdx.x; d < kD; d += kThreads) {
        float all = 0.0f;
#pragma unroll
        for (int s = 0; s < kStreams; ++s) all += outs[s][d];
        part.out[d] = all;
      }
      if (threadIdx.x == 0) {
        part.maximum = largest;
        part.sum = total;
      }
      __syncthreads();
    }
  }

  // The output row of one query from its parts; a block of kD threads.
  __device__ static void merge_parts(const Part* parts, int count, T* o) {
    float largest = -INFINITY, sum = 0.0f, out = 0.0f;
    for (int i = 0; i < count; ++i) largest = fmaxf(largest, parts[i].maximum);
    for (int i = 0; i < count; ++i) {
      const float weight = weight_of(parts[i].maximum, largest);
      sum = fmaf(parts[i].sum, weight, sum);
      out = fmaf(parts[i].out[threadIdx.x], weight, out);
    }
    o[threadIdx.x] = from_float<T>(out / sum);
  }

 private:
  // -inf minus -inf is no number: what has seen no key weighs nothing.
  __device__ static float weight_of(float maximum, float largest) { return maximum == -INFINITY ? 0.0f : exp2f(maximum - largest); }
};

}  // namespace kw
