// Turns element k of a head against element k + K by the angles of their position, bf16: a block a token, 16 bytes of
// each half an access, one element where halves are no multiple of eight.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

using T = __nv_bfloat16;
constexpr int kThreads = 128;

// V elements an access; `half` is a multiple of V. The token's place in its sequence is blockIdx.x % length.
template <int V>
__global__ void __launch_bounds__(kThreads) rope(const T* __restrict__ x, const float* __restrict__ cosine,
                                                 const float* __restrict__ sine, T* __restrict__ y, int length, int heads, int half) {
  using Pack = kw::Pack<T, V>;
  using Angles = kw::Pack<float, V == 1 ? 1 : 4>;
  constexpr int kAngles = sizeof(Angles) / sizeof(float);
  const int packs = half / V;
  const size_t row = static_cast<size_t>(blockIdx.x) * heads * 2 * half, place = static_cast<size_t>(blockIdx.x % length) * half;
  for (int p = threadIdx.x; p < heads * packs; p += kThreads) {
    const int head = p / packs, k = p % packs * V;
    const size_t first = row + static_cast<size_t>(head) * 2 * half + k, second = first + half;
    Pack left = *reinterpret_cast<const Pack*>(x + first), right = *reinterpret_cast<const Pack*>(x + second);
#pragma unroll
    for (int part = 0; part < V; part += kAngles) {
      const Angles c = *reinterpret_cast<const Angles*>(cosine + place + k + part);
      const Angles s = *reinterpret_cast<const Angles*>(sine + place + k + part);
#pragma unroll
      for (int i = 0; i < kAngles; ++i) {
        const float a = kw::to_float(left.at[part + i]), b = kw::to_float(right.at[part + i]);
        left.at[part + i] = kw::from_float<T>(a * c.at[i] - b * s.at[i]);
        right.at[part + i] = kw::from_float<T>(a * s.at[i] + b * c.at[i]);
      }
    }
    *reinterpret_cast<Pack*>(y + first) = left;
    *reinterpret_cast<Pack*>(y + second) = right;
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::In cosine, kw::In sine, kw::Out y, cudaStream_t stream) {
  const int length = static_cast<int>(x.shape(1)), heads = static_cast<int>(x.shape(2)), half = static_cast<int>(cosine.shape(1));
  auto* kernel = half % 8 == 0 ? &rope<8> : &rope<1>;
  kernel<<<static_cast<unsigned>(x.shape(0) * x.shape(1)), kThreads, 0, stream>>>(x.data<T>(), cosine.data<float>(), sine.data<float>(),
                                                                                  y.data<T>(), length, heads, half);
}
