// Rows to int8 with a scale each, the row's largest magnitude over 127; bf16 in. A block a row; the row is read once and
// kept in registers, 16 bytes at a time.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>
#include <kernelwright/reduce.cuh>

namespace {

constexpr int kEach = 8;
using In = kw::Pack<__nv_bfloat16, kEach>;
using Out = kw::Pack<int8_t, kEach>;

// The row has at most kThreads · kPacks packs.
template <int kThreads, int kPacks>
__global__ void __launch_bounds__(kThreads)
    quantize_rows(const In* __restrict__ x, Out* __restrict__ q, float* __restrict__ scale, int packs, float least) {
  __shared__ float scratch[kThreads / 32];
  x += static_cast<size_t>(blockIdx.x) * packs;
  q += static_cast<size_t>(blockIdx.x) * packs;
  In kept[kPacks];
  float largest = 0.0f;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int p = i * kThreads + threadIdx.x;
    if (p >= packs) break;
    kept[i] = x[p];
#pragma unroll
    for (int e = 0; e < kEach; ++e) largest = fmaxf(largest, fabsf(kw::to_float(kept[i].at[e])));
  }
  largest = fmaxf(kw::block_reduce<kw::Max, kThreads>(largest, scratch), least);
  const float step = largest / 127.0f, inverse = 127.0f / largest;
  if (threadIdx.x == 0) scale[blockIdx.x] = step;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int p = i * kThreads + threadIdx.x;
    if (p >= packs) break;
    Out out;
#pragma unroll
    for (int e = 0; e < kEach; ++e) out.at[e] = static_cast<int8_t>(__float2int_rn(kw::to_float(kept[i].at[e]) * inverse));
    q[p] = out;
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out q, kw::Out scale, float least, cudaStream_t stream) {
  const unsigned rows = static_cast<unsigned>(x.shape(0));
  const int packs = static_cast<int>(x.shape(1) / kEach);
  const In* in = reinterpret_cast<const In*>(x.data<__nv_bfloat16>());
  Out* out = reinterpret_cast<Out*>(q.data<int8_t>());
  if (packs <= 256 * 2) {
    quantize_rows<256, 2><<<rows, 256, 0, stream>>>(in, out, scale.data<float>(), packs, least);
  } else if (packs <= 256 * 8) {
    quantize_rows<256, 8><<<rows, 256, 0, stream>>>(in, out, scale.data<float>(), packs, least);
  } else {
    quantize_rows<1024, 8><<<rows, 1024, 0, stream>>>(in, out, scale.data<float>(), packs, least);
  }
}
