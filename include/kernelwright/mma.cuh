// Tensor-core pieces of sm_80: fragment loads from shared memory and the 16×8×16 half-precision product
// with fp32 accumulation. Fragment layouts: PTX ISA, "Matrix fragments for mma.m16n8k16" and "ldmatrix".
//
// Lane l = 4·g + t holds of the accumulator rows g and g+8, columns 2t and 2t+1:
//   c[0] (g, 2t)  c[1] (g, 2t+1)  c[2] (g+8, 2t)  c[3] (g+8, 2t+1)
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kernelwright/async_copy.cuh"

namespace kw {

// Four 8×8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ inline void ldmatrix_x4(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

__device__ inline void ldmatrix_x4_trans(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// c += a·b; a is 16×16 row-major, b is 16×8 column-major.
__device__ inline void mma_16x8x16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline uint32_t pack_half2(float low, float high) {
  const __half2 h = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&h);
}

}  // namespace kw
