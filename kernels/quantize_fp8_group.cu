// Groups of 128 neighbours to fp8 e4m3 with a scale each, the group's largest magnitude over 448; bf16 in, for sm_89, which
// converts in one instruction. Half a warp takes a group, a lane 16 bytes of it.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

#include <cuda_fp8.h>

namespace {

constexpr int kThreads = 256, kLanes = 16, kEach = 8;
constexpr float kLargest = 448.0f;  // of e4m3
using In = kw::Pack<__nv_bfloat16, kEach>;
using Out = kw::Pack<__nv_fp8x2_storage_t, kEach / 2>;

__global__ void __launch_bounds__(kThreads)
    quantize_groups(const In* __restrict__ x, Out* __restrict__ q, float* __restrict__ scale, int64_t groups, float least) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x, group = at / kLanes;
  const bool inside = group < groups;
  In in = {};
  if (inside) in = x[at];
  float largest = least;
#pragma unroll
  for (int e = 0; e < kEach; ++e) largest = fmaxf(largest, fabsf(kw::to_float(in.at[e])));
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
  if (!inside) return;
  const float inverse = kLargest / largest;
  Out out;
#pragma unroll
  for (int e = 0; e < kEach; e += 2) {
    const float2 pair = make_float2(kw::to_float(in.at[e]) * inverse, kw::to_float(in.at[e + 1]) * inverse);
    out.at[e / 2] = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3);
  }
  q[at] = out;
  if (at % kLanes == 0) scale[group] = largest / kLargest;
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out q, kw::Out scale, float least, cudaStream_t stream) {
  const int64_t groups = scale.size();
  const unsigned blocks = static_cast<unsigned>((groups * kLanes + kThreads - 1) / kThreads);
  quantize_groups<<<blocks, kThreads, 0, stream>>>(reinterpret_cast<const In*>(x.data<__nv_bfloat16>()),
                                                   reinterpret_cast<Out*>(q.data<__nv_fp8_e4m3>()), scale.data<float>(), groups, least);
}
