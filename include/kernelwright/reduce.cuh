// Sums and maxima over a warp or a block, every thread receiving the result.
#pragma once

namespace kw {

struct Sum {
  __device__ static float identity() { return 0.0f; }
  __device__ static float combine(float a, float b) { return a + b; }
};
struct Max {
  __device__ static float identity() { return -__int_as_float(0x7f800000); }
  __device__ static float combine(float a, float b) { return fmaxf(a, b); }
};

template <typename Op>
__device__ inline float warp_reduce(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value = Op::combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

// All kThreads threads of the block call it together. `scratch` is shared memory of kThreads / 32 floats; it
// may be reused after the call without a further barrier.
template <typename Op, int kThreads>
__device__ inline float block_reduce(float value, float* scratch) {
  constexpr int kWarps = kThreads / 32;
  value = warp_reduce<Op>(value);
  if constexpr (kWarps == 1) return value;
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  float total = Op::identity();
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) total = Op::combine(total, scratch[warp]);
  __syncthreads();
  return total;
}

}  // namespace kw
