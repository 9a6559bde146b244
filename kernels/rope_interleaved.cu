// Turns neighbouring pairs by the angles of their position, bf16: a block a token, 16 bytes (four pairs) an access, one
// pair where heads are no multiple of eight.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

using T = __nv_bfloat16;
constexpr int kThreads = 128;

// P pairs an access; `half` pairs of a head, a multiple of P. The token's place in its sequence is blockIdx.x % length.
template <int P>
__global__ void __launch_bounds__(kThreads) rope(const T* __restrict__ x, const float* __restrict__ cosine,
                                                 const float* __restrict__ sine, T* __restrict__ y, int length, int heads, int half) {
  using Pack = kw::Pack<T, 2 * P>;
  using Angles = kw::Pack<float, P>;
  const int packs = half / P;  // of a head
  const size_t row = static_cast<size_t>(blockIdx.x) * heads * packs, place = static_cast<size_t>(blockIdx.x % length) * packs;
  for (int p = threadIdx.x; p < heads * packs; p += kThreads) {
    const Angles c = reinterpret_cast<const Angles*>(cosine)[place + p % packs];
    const Angles s = reinterpret_cast<const Angles*>(sine)[place + p % packs];
    Pack pack = reinterpret_cast<const Pack*>(x)[row + p];
#pragma unroll
    for (int i = 0; i < P; ++i) {
      const float a = kw::to_float(pack.at[2 * i]), b = kw::to_float(pack.at[2 * i + 1]);
      pack.at[2 * i] = kw::from_float<T>(a * c.at[i] - b * s.at[i]);
      pack.at[2 * i + 1] = kw::from_float<T>(a * s.at[i] + b * c.at[i]);
    }
    reinterpret_cast<Pack*>(y)[row + p] = pack;
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::In cosine, kw::In sine, kw::Out y, cudaStream_t stream) {
  const int length = static_cast<int>(x.shape(1)), heads = static_cast<int>(x.shape(2)), half = static_cast<int>(cosine.shape(1));
  auto* kernel = half % 4 == 0 ? &rope<4> : &rope<1>;
  kernel<<<static_cast<unsigned>(x.shape(0) * x.shape(1)), kThreads, 0, stream>>>(x.data<T>(), cosine.data<float>(), sine.data<float>(),
                                                                                  y.data<T>(), length, heads, half);
}
