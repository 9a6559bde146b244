// Blackwell, desktop: block-scaled mma of narrow floats, their conversions, ldmatrix that unpacks.
#include <cstdint>

extern "C" __global__ void narrow(uint32_t* out, const uint32_t* in, const float* x) {
  __shared__ __align__(16) uint32_t tile[256];
  uint32_t address = (uint32_t)__cvta_generic_to_shared(tile) + threadIdx.x % 32 * 16;
  uint32_t a[4] = {in[0], in[1], in[2], in[3]}, b[2] = {in[4], in[5]}, scale = in[6];
  float c[4] = {0, 0, 0, 0};
#define MMA(kind, tail)                                                                                              \
  asm volatile("mma.sync.aligned." kind " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}" tail ";"             \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                      \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(scale), "h"((uint16_t)0))
  MMA("kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e3m2.f32", "");
  MMA("kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e2m3.f32.ue8m0", ", %10, {%11, %11}, %10, {%11, %11}");
  MMA("kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3", ", {%10}, {%11, %11}, {%10}, {%11, %11}");
  asm volatile("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64 {%0,%1,%2,%3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(address));
  asm volatile("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%0,%1,%2,%3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(address));
  uint32_t packed;
  asm volatile("{ .reg .b8 t, u; cvt.rn.satfinite.e2m1x2.f32 t, %1, %2; mov.b32 %0, {t, t, t, t}; cvt.rn.f16x2.e2m1x2 %0, t; }" : "=r"(packed) : "f"(x[0]), "f"(x[1]));
  uint16_t half;
  asm volatile("cvt.rn.satfinite.e3m2x2.f32 %0, %1, %2;" : "=h"(half) : "f"(x[0]), "f"(x[1]));
  asm volatile("cvt.rp.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(half) : "f"(x[2]), "f"(x[3]));
  out[threadIdx.x] = a[0] + a[3] + packed + half + (uint32_t)c[0];
}
