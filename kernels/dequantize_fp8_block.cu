// A matrix in fp8 e4m3 with a scale for each block of 128×128 to bf16, for sm_89, which converts in one instruction. A
// block of threads takes 32 rows of one block of scales, a thread 16 bytes of a row at a time.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

#include <cuda_fp8.h>

namespace {

constexpr int kSide = 128, kThreads = 256, kEach = 16;
constexpr int kRows = kThreads * kEach / kSide;
using In = kw::Pack<__nv_fp8x2_storage_t, kEach / 2>;
using Out = kw::Pack<__nv_bfloat162, kEach / 4>;

__global__ void __launch_bounds__(kThreads)
    dequantize_blocks(const uint8_t* __restrict__ q, const float* __restrict__ scale, __nv_bfloat16* __restrict__ y, int64_t columns) {
  const int64_t row = static_cast<int64_t>(blockIdx.y) * kRows + threadIdx.x / (kSide / kEach);
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kSide + threadIdx.x % (kSide / kEach) * kEach;
  const float factor = scale[row / kSide * gridDim.x + blockIdx.x];
  const In in = *reinterpret_cast<const In*>(q + row * columns + column);
  Out out[2];
#pragma unroll
  for (int e = 0; e < kEach / 2; ++e) {
    const float2 pair = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(in.at[e], __NV_E4M3)));
    out[e / 4].at[e % 4] = __floats2bfloat162_rn(pair.x * factor, pair.y * factor);
  }
  Out* to = reinterpret_cast<Out*>(y + row * columns + column);
  to[0] = out[0];
  to[1] = out[1];
}

}  // namespace

KW_ENTRY(kw::In q, kw::In scale, kw::Out y, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(q.shape(1) / kSide), static_cast<unsigned>(q.shape(0) / kRows));
  dequantize_blocks<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const uint8_t*>(q.data<__nv_fp8_e4m3>()), scale.data<float>(),
                                                   y.data<__nv_bfloat16>(), q.shape(1));
}
