// y = a + b, fp32: 16 bytes a thread, the last one to three elements by threads of their own.
#include <kernelwright/candidate.h>

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) vector_add(const float* __restrict__ a, const float* __restrict__ b,
                                                       float* __restrict__ y, int64_t n) {
  const int64_t vectors = n / 4;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < vectors) {
    const float4 u = reinterpret_cast<const float4*>(a)[i];
    const float4 v = reinterpret_cast<const float4*>(b)[i];
    reinterpret_cast<float4*>(y)[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
  } else if (const int64_t last = 4 * vectors + (i - vectors); last < n) {
    y[last] = a[last] + b[last];
  }
}

}  // namespace

KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  const int64_t n = y.size();
  const int64_t work = n / 4 + n % 4;
  vector_add<<<static_cast<unsigned>((work + kThreads - 1) / kThreads), kThreads, 0, stream>>>(a.data<float>(), b.data<float>(),
                                                                                              y.data<float>(), n);
}
