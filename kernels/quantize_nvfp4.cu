// bf16 to NVFP4: e2m1 elements with an e4m3 scale for each 16 of them, the scale of all given, for sm_89, which converts
// e4m3 in one instruction; e2m1 is rounded by arithmetic. A thread takes one block: 32 bytes in, eight and one out.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

#include <cuda_fp8.h>

namespace {

constexpr int kThreads = 256, kBlock = 16;
constexpr float kLargest = 6.0f;  // of e2m1
using Eight = kw::Pack<__nv_bfloat16, 8>;

// To the nearest e2m1, ties to even, what lies beyond 6 to 6. The distance of neighbours is a half below 2, one below 4,
// then two; codes count up with the values.
__device__ uint32_t encode_e2m1(float value) {
  const float size = fabsf(value);
  const int code = size < 2.0f   ? __float2int_rn(size * 2.0f)
                   : size < 4.0f ? __float2int_rn(size) + 2
                                 : min(__float2int_rn(size * 0.5f) + 4, 7);
  return static_cast<uint32_t>(code) | (__float_as_uint(value) >> 28 & 8);
}

__global__ void __launch_bounds__(kThreads)
    quantize_blocks(const Eight* __restrict__ x, const float* __restrict__ all, uint2* __restrict__ q,
                    __nv_fp8_storage_t* __restrict__ scale, int64_t blocks) {
  const int64_t block = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (block >= blocks) return;
  const Eight in[2] = {x[block * 2], x[block * 2 + 1]};
  float largest = 0.0f;
#pragma unroll
  for (int i = 0; i < kBlock; ++i) largest = fmaxf(largest, fabsf(kw::to_float(in[i / 8].at[i % 8])));
  const __nv_fp8_storage_t stored = __nv_cvt_float_to_fp8(largest / kLargest / *all, __NV_SATFINITE, __NV_E4M3);
  const float step = __half2float(__half(__nv_cvt_fp8_to_halfraw(stored, __NV_E4M3))) * *all;
  const float inverse = step > 0.0f ? 1.0f / step : 0.0f;
  uint32_t words[2] = {};
#pragma unroll
  for (int i = 0; i < kBlock; ++i) words[i / 8] |= encode_e2m1(kw::to_float(in[i / 8].at[i % 8]) * inverse) << (i % 8 * 4);
  q[block] = make_uint2(words[0], words[1]);
  scale[block] = stored;
}

}  // namespace

KW_ENTRY(kw::In x, kw::In all, kw::Out q, kw::Out scale, cudaStream_t stream) {
  const int64_t blocks = scale.size();
  quantize_blocks<<<static_cast<unsigned>((blocks + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      reinterpret_cast<const Eight*>(x.data<__nv_bfloat16>()), all.data<float>(), static_cast<uint2*>(q.data<void>()),
      reinterpret_cast<__nv_fp8_storage_t*>(scale.data<__nv_fp8_e4m3>()), blocks);
}
