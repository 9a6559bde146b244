// Sums of exponentials, of pieces and of rows, for softmax and its logarithm. Values are finite or -inf.
#pragma once

#include <kernelwright/reduce.cuh>
#include <kernelwright/row.cuh>

#include <cmath>

namespace kw {

inline constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

// sum over what was added of exp(x - top), top being the largest: the running form of Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018. Rescaling is by pack, not by element.
struct ExpSum {
  float top = -INFINITY, sum = 0.0f;

  template <int N>
  __device__ void add(const float (&x)[N]) {
    float here = top;
#pragma unroll
    for (int e = 0; e < N; ++e) here = fmaxf(here, x[e]);
    rescale(here);
    if (here == -INFINITY) return;  // no inf - inf
#pragma unroll
    for (int e = 0; e < N; ++e) sum += exp2f((x[e] - top) * kLog2e);
  }
  // To a top that is at least as large.
  __device__ void rescale(float to) {
    if (to != top) sum *= exp2f((top - to) * kLog2e);
    top = to;
  }
  __device__ float log_sum() const { return log2f(sum) * kLn2; }  // less top
};

// Of scale · x over a row. All kThreads threads of the block call it with the same row of n elements and receive the same
// sum.
template <typename T, int V, int kThreads>
__device__ inline ExpSum row_exp_sum(const T* start, int n, float scale = 1.0f) {
  __shared__ float scratch[kThreads / 32];
  const Row<T, V> row(start, n);
  ExpSum part;
  if (const int single = row.single(threadIdx.x); single >= 0) {
    const float alone[1] = {to_float(start[single]) * scale};
    part.add(alone);
  }
  for (int p = threadIdx.x; p < row.packs; p += kThreads) {
    const Pack<T, V> pack = reinterpret_cast<const Pack<T, V>*>(start + row.head)[p];
    float x[V];
#pragma unroll
    for (int e = 0; e < V; ++e) x[e] = to_float(pack.at[e]) * scale;
    part.add(x);
  }
  part.rescale(block_reduce<Max, kThreads>(part.top, scratch));
  part.sum = block_reduce<Sum, kThreads>(part.sum, scratch);
  return part;
}

}  // namespace kw
