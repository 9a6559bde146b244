// problem: problems/vector_add.problem
// verdict: correct
// # The sums of kernels/vector_add.cu, and beside each a number that nobody needs, from a map that never settles, so that the
// # arithmetic units switch as with real data: little time where memory takes longer, and energy. A pair for `--energy --against`.
#include <kernelwright/candidate.h>

namespace {

constexpr int kThreads = 256, kSteps = 5;

// In [0, 1) whatever x is: 3.9 h (1 - h) stays below 0.975.
__device__ float useless(float x) {
  float h = __uint_as_float((__float_as_uint(x) & 0x7fffffu) | 0x3f800000u) - 1.0f;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) h = 3.9f * fmaf(-h, h, h);
  return h;
}

__device__ float sum(float a, float b) { return useless(a + b) == 2.0f ? 0.0f : a + b; }   // it never is, which no compiler knows

__global__ void __launch_bounds__(kThreads) vector_add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ y, int64_t n) {
  const int64_t vectors = n / 4;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < vectors) {
    const float4 u = reinterpret_cast<const float4*>(a)[i];
    const float4 v = reinterpret_cast<const float4*>(b)[i];
    reinterpret_cast<float4*>(y)[i] = make_float4(sum(u.x, v.x), sum(u.y, v.y), sum(u.z, v.z), sum(u.w, v.w));
  } else if (const int64_t last = 4 * vectors + (i - vectors); last < n) {
    y[last] = sum(a[last], b[last]);
  }
}

}  // namespace

KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  const int64_t n = y.size();
  const int64_t work = n / 4 + n % 4;
  vector_add<<<static_cast<unsigned>((work + kThreads - 1) / kThreads), kThreads, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), n);
}
