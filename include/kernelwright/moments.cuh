// Mean and sum of squared distances from it, merged without cancellation: Chan, Golub and LeVeque, "Updating formulae and
// a pairwise algorithm for computing sample variances", 1979.
#pragma once

namespace kw {

struct Moments {  // Moments{}: of nothing
  float count, mean, squares;

  __device__ void merge(float other_count, float other_mean, float other_squares) {
    const float total = count + other_count;
    if (total == 0.0f) return;
    const float off = other_mean - mean, share = __fdividef(other_count, total);
    mean = fmaf(off, share, mean);
    squares += other_squares + off * off * count * share;
    count = total;
  }
  template <int N>
  __device__ void add(const float (&x)[N]) {
    float sum = 0.0f, around = 0.0f;
#pragma unroll
    for (int e = 0; e < N; ++e) sum += x[e];
    sum /= N;
#pragma unroll
    for (int e = 0; e < N; ++e) around = fmaf(x[e] - sum, x[e] - sum, around);
    merge(N, sum, around);
  }
};

// All kThreads threads of the block call it together and receive the moments of everything. `scratch` is shared memory of
// kThreads / 32 elements.
template <int kThreads>
__device__ inline Moments block_merge(Moments part, Moments* scratch) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    part.merge(__shfl_xor_sync(0xffffffffu, part.count, distance), __shfl_xor_sync(0xffffffffu, part.mean, distance),
               __shfl_xor_sync(0xffffffffu, part.squares, distance));
  }
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = part;
  __syncthreads();
  Moments all{};
#pragma unroll
  for (int warp = 0; warp < kThreads / 32; ++warp) all.merge(scratch[warp].count, scratch[warp].mean, scratch[warp].squares);
  return all;
}

}  // namespace kw
