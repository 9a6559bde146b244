// Ampere and Ada: cp.async, ldmatrix, mma.sync of all kinds, wmma, movmatrix.
#include <cooperative_groups.h>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

extern "C" __global__ void wmma_gemm(const __half* a, const __half* b, float* c, int n) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(fa, a + k, n);
    wmma::load_matrix_sync(fb, b + k, n);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c, fc, n, wmma::mem_row_major);
}

extern "C" __global__ void wmma_kinds(const double* a, const signed char* b, double* c, int* d, const float* e, float* f) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> da;
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> db;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> dc;
  wmma::load_matrix_sync(da, a, 4); wmma::load_matrix_sync(db, a + 32, 4); wmma::fill_fragment(dc, 0.0);
  wmma::mma_sync(dc, da, db, dc);
  wmma::store_matrix_sync(c, dc, 8, wmma::mem_col_major);
  wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> ia;
  wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> ib;
  wmma::fragment<wmma::accumulator, 32, 8, 16, int> ic;
  wmma::load_matrix_sync(ia, b, 16); wmma::load_matrix_sync(ib, b + 512, 16); wmma::fill_fragment(ic, 0);
  wmma::mma_sync(ic, ia, ib, ic);
  wmma::store_matrix_sync(d, ic, 8, wmma::mem_row_major);
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> ta;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> tb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> tc;
  wmma::load_matrix_sync(ta, e, 8); wmma::load_matrix_sync(tb, e + 128, 8); wmma::fill_fragment(tc, 0.f);
  for (int i = 0; i < ta.num_elements; ++i) ta.x[i] = wmma::__float_to_tf32(ta.x[i]);
  wmma::mma_sync(tc, ta, tb, tc);
  wmma::store_matrix_sync(f, tc, 16, wmma::mem_row_major);
}

extern "C" __global__ void pipelined(const float4* x, float4* y, int n) {
  __shared__ __align__(128) float4 buffer[2][128];
  for (int i = 0; i < n; ++i) {
    __pipeline_memcpy_async(&buffer[i & 1][threadIdx.x], &x[i * 128 + threadIdx.x], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    y[i * 128 + threadIdx.x] = buffer[(i + 1) & 1][127 - threadIdx.x];
  }
  unsigned shared = (unsigned)__cvta_generic_to_shared(buffer);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(shared), "l"(x), "r"(n));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" :: "r"(shared), "l"(x));
  asm volatile("cp.async.wait_all;");
  cooperative_groups::this_grid().sync();
}

extern "C" __global__ void mma_kinds(unsigned* out, const unsigned* in) {
  __shared__ __align__(16) unsigned tile[256];
  unsigned a[4], b[2], c[4] = {0, 0, 0, 0};
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  unsigned address = (unsigned)__cvta_generic_to_shared(tile) + threadIdx.x % 32 * 16;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(address));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2+64];" : "=r"(b[0]), "=r"(b[1]) : "r"(address));
#define MMA(kind)                                                                                                   \
  asm volatile("mma.sync.aligned." kind " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                     \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  MMA("m16n8k32.row.col.s32.s8.s8.s32");
  MMA("m16n8k32.row.col.satfinite.s32.u8.s8.s32");
  MMA("m16n8k64.row.col.s32.s4.u4.s32");
  MMA("m16n8k256.row.col.s32.b1.b1.s32.xor.popc");
  MMA("m16n8k256.row.col.s32.b1.b1.s32.and.popc");
  float f[4] = {0, 0, 0, 0};
#define MMA_FLOAT(kind)                                                                                             \
  asm volatile("mma.sync.aligned." kind " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                     \
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  MMA_FLOAT("m16n8k16.row.col.f32.f16.f16.f32");
  MMA_FLOAT("m16n8k16.row.col.f32.bf16.bf16.f32");
  MMA_FLOAT("m16n8k8.row.col.f32.tf32.tf32.f32");
#if __CUDA_ARCH__ >= 890
  MMA_FLOAT("m16n8k32.row.col.f32.e4m3.e5m2.f32");
#endif
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
               : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  asm volatile("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%8,%9}, {%0,%1,%2,%3}, %10, 0x0;"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[3]));
  double d[2] = {0, 0};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(1.0), "d"(2.0));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(c[0]) : "r"(c[1]));
  out[threadIdx.x] = c[0] + c[1] + c[2] + c[3] + (unsigned)f[0] + (unsigned)f[1] + (unsigned)d[0];
}
