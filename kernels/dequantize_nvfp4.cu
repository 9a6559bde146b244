// NVFP4 to bf16: e2m1 elements with an e4m3 scale for each 16 of them and one fp32 scale for all, for sm_89, which
// converts e4m3 in one instruction. A thread takes one group: eight bytes in, 32 out.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>
#include <kernelwright/mma.cuh>

#include <cuda_fp8.h>

namespace {

constexpr int kThreads = 256, kGroup = 16;

// The e2m1 value in the low four bits: sign, two bits of exponent with bias 1, one of mantissa. Put where fp32 has its own,
// they are the value over 2^126; subnormal ones too.
__device__ float decode_e2m1(uint32_t bits) {
  return __uint_as_float((bits & 8) << 28 | (bits & 7) << 22) * 0x1p126f;
}

__global__ void __launch_bounds__(kThreads)
    dequantize_groups(const uint2* __restrict__ q, const __nv_fp8_storage_t* __restrict__ scale, const float* __restrict__ all,
                      uint4* __restrict__ y, int64_t groups) {
  const int64_t group = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (group >= groups) return;
  const float factor = __half2float(__half(__nv_cvt_fp8_to_halfraw(scale[group], __NV_E4M3))) * *all;
  const uint2 packed = q[group];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint32_t word = half == 0 ? packed.x : packed.y;  // eight elements, the first in the low bits
    uint32_t pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      pairs[i] = kw::pack_pair<__nv_bfloat16>(decode_e2m1(word >> (i * 8)) * factor, decode_e2m1(word >> (i * 8 + 4)) * factor);
    }
    y[group * 2 + half] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }
}

}  // namespace

KW_ENTRY(kw::In q, kw::In scale, kw::In all, kw::Out y, cudaStream_t stream) {
  const int64_t groups = scale.size();
  const unsigned blocks = static_cast<unsigned>((groups + kThreads - 1) / kThreads);
  dequantize_groups<<<blocks, kThreads, 0, stream>>>(
      static_cast<const uint2*>(q.data<void>()), reinterpret_cast<const __nv_fp8_storage_t*>(scale.data<__nv_fp8_e4m3>()),
      all.data<float>(), reinterpret_cast<uint4*>(y.data<__nv_bfloat16>()), groups);
}
