// Tensor-core pieces of sm_80 (sm_89 for e4m3): fragment loads from shared memory and the products of 16 rows by
// 8 columns over 32 bytes of k. Fragment layouts: PTX ISA, "Matrix fragments for mma.m16n8k16" and "ldmatrix".
//
// Measured in bytes, the operand fragments of all types are the same: ldmatrix, made for 16-bit elements, also
// loads those of one and of four bytes.
//
// Lane l = 4·g + t holds of the accumulator rows g and g+8, columns 2t and 2t+1:
//   c[0] (g, 2t)  c[1] (g, 2t+1)  c[2] (g+8, 2t)  c[3] (g+8, 2t+1)
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernelwright/async_copy.cuh"

struct __nv_fp8_e4m3;

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

// Two neighbouring values rounded to T, the first in the low half.
template <typename T>
__device__ inline uint32_t pack_pair(float low, float high);
template <>
__device__ inline uint32_t pack_pair<__half>(float low, float high) { return pack_half2(low, high); }
template <>
__device__ inline uint32_t pack_pair<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// c += a·b over 32 bytes of k; a is 16 rows, row-major, b is 8 columns, column-major. `ready` turns a loaded register
// into an operand.
template <typename T>
struct Product;

template <>
struct Product<__half> {
  using Accumulator = float;
  __device__ static uint32_t ready(uint32_t x) { return x; }
  __device__ static void add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) { mma_16x8x16(c, a, b0, b1); }
};

#define KW_PRODUCT(accumulator, constraint, instruction)                                                 \
  __device__ static void add(accumulator (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {         \
    asm volatile(instruction " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"                            \
                 : constraint(c[0]), constraint(c[1]), constraint(c[2]), constraint(c[3])                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                  \
  }

template <>
struct Product<__nv_bfloat16> {
  using Accumulator = float;
  __device__ static uint32_t ready(uint32_t x) { return x; }
  KW_PRODUCT(float, "+f", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
};

// fp32 operands, rounded to tf32 (to nearest, ties away).
template <>
struct Product<float> {
  using Accumulator = float;
  __device__ static uint32_t ready(uint32_t x) {
    uint32_t rounded;
    asm("cvt.rna.tf32.f32 %0, %1;\n" : "=r"(rounded) : "f"(__uint_as_float(x)));
    return rounded;
  }
  KW_PRODUCT(float, "+f", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
};

template <>
struct Product<int8_t> {
  using Accumulator = int;
  __device__ static uint32_t ready(uint32_t x) { return x; }
  KW_PRODUCT(int, "+r", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
};

template <>
struct Product<__nv_fp8_e4m3> {
  using Accumulator = float;
  __device__ static uint32_t ready(uint32_t x) { return x; }
  KW_PRODUCT(float, "+f", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
};

#undef KW_PRODUCT

}  // namespace kw
