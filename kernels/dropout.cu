// Dropout, fp16: y = x / keep where the uniform number of the element is at most `keep`, else 0. A thread four elements:
// the four words of one block of Philox4x32-10, whose counter is (offset, thread) and whose key is the seed.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

constexpr int kThreads = 256;

__device__ uint4 philox(uint4 c, uint2 key) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint32_t left = __umulhi(0xd2511f53u, c.x), right = __umulhi(0xcd9e8d57u, c.z);
    c = make_uint4(right ^ c.y ^ key.x, 0xcd9e8d57u * c.z, left ^ c.w ^ key.y, 0xd2511f53u * c.x);
    key.x += 0x9e3779b9u;
    key.y += 0xbb67ae85u;
  }
  return c;
}

// In (0, 1], as cuRAND makes it of a word.
__device__ float uniform(uint32_t word) { return fmaf(__uint2float_rn(word), 0x1p-32f, 0x1p-33f); }

__global__ void __launch_bounds__(kThreads)
    dropout(const __half* __restrict__ x, const int64_t* __restrict__ seed, const int64_t* __restrict__ offset, __half* __restrict__ y,
            int64_t n, float keep) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x, first = thread * 4;
  if (first >= n) return;
  const auto low = [](int64_t word) { return static_cast<uint32_t>(word); };
  const auto high = [](int64_t word) { return static_cast<uint32_t>(word >> 32); };
  const uint4 counter = make_uint4(low(*offset), high(*offset), low(thread), high(thread));
  const uint4 word = philox(counter, make_uint2(low(*seed), high(*seed)));
  const float u[4] = {uniform(word.x), uniform(word.y), uniform(word.z), uniform(word.w)};
  const auto value = [&](__half in, int i) { return kw::from_float<__half>(u[i] <= keep ? kw::to_float(in) / keep : 0.0f); };
  if (first + 4 <= n) {
    using Four = kw::Pack<__half, 4>;
    const Four in = reinterpret_cast<const Four*>(x)[thread];
    Four out;
#pragma unroll
    for (int i = 0; i < 4; ++i) out.at[i] = value(in.at[i], i);
    reinterpret_cast<Four*>(y)[thread] = out;
  } else {
#pragma unroll
    for (int i = 0; i < 3; ++i)
      if (first + i < n) y[first + i] = value(x[first + i], i);
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::In seed, kw::In offset, kw::Out y, float keep, cudaStream_t stream) {
  const int64_t threads = (x.size() + 3) / 4;
  dropout<<<static_cast<unsigned>((threads + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      x.data<__half>(), seed.data<int64_t>(), offset.data<int64_t>(), y.data<__half>(), x.size(), keep);
}
