// The SIMT core: shared memory, barriers, shuffles, votes, atomics of every kind, fp64, printf, indirect
// calls, constant memory, vector accesses, inline assembly with scopes of its own.
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__constant__ float coefficients[4] = {1.0f, 0.5f, -0.25f, 0x1p-10f};
__device__ int counter;
__device__ double table[3] = {1.0, -2.5, 1e300};
__device__ int* pointer_to_counter = &counter;
extern __shared__ float dynamic_shared[];

extern "C" __global__ void block_sum(const float4* __restrict__ x, float* y, int n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 v = __ldg(&x[i]);
    sum += v.x * coefficients[0] + v.y * coefficients[1] + v.z + v.w;
  }
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) atomicAdd(y, sum);
  }
}

extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, __half2* h) {
  atomicAdd(i, 1); atomicSub(i, 2); atomicMin(i, -3); atomicMax(u, 4u); atomicInc(u, 5u); atomicDec(u, 6u);
  atomicAnd(u, 7u); atomicOr(l, 8ull); atomicXor(l, 9ull); atomicExch(f, 1.0f);
  i[1] = atomicCAS(i, 1, 2);
  l[1] = atomicCAS(l, 1ull, 2ull);
  d[1] = atomicAdd(d, 0.5);
  atomicAdd(h, __floats2half2_rn(1.0f, 2.0f));
  atomicAdd_block(i, 1); atomicAdd_system(i, 1);
  dynamic_shared[threadIdx.x] = f[threadIdx.x];
  atomicAdd(&dynamic_shared[0], 1.0f);
  __threadfence(); __threadfence_block(); __threadfence_system();
}

extern "C" __global__ void votes(unsigned* out, int value) {
  unsigned active = __activemask();
  unsigned ballot = __ballot_sync(active, value > 3);
  int all = __all_sync(active, value), any = __any_sync(active, value);
  unsigned match = __match_any_sync(active, value);
  int predicate;
  unsigned match_all = __match_all_sync(active, value, &predicate);
  unsigned sum = __reduce_add_sync(active, (unsigned)value);
  int smallest = __reduce_min_sync(active, value);
  __syncwarp();
  int count = __syncthreads_count(value), both = __syncthreads_and(value), either = __syncthreads_or(value);
  out[threadIdx.x] = ballot + all + any + match + match_all + sum + smallest + predicate + count + both + either +
                     __popc(value) + __clz(value) + __ffs(value) + __brev(value) + __byte_perm(value, 7, 0x1234) +
                     __funnelshift_l(value, 3, 5) + __dp4a(value, value, 1) + __sad(value, 3, 4u) + __mulhi(value, 77) + __vadd4(value, 3);
}

extern "C" __global__ void maths(float* f, double* d, __half* h, __nv_bfloat16* b, __nv_fp8_e4m3* q) {
  float x = f[threadIdx.x];
  f[0] = sinf(x) + __expf(x) + sqrtf(x) + rsqrtf(x) + __fdividef(x, 3.0f) + x / 7.0f + fmaf(x, x, 1.0f) + powf(x, 2.5f) + fminf(x, 1) + tanhf(x) + __logf(x) + floorf(x) + fmodf(x, 3.0f);
  f[1] = __fadd_rz(x, 1.0f) + __fmul_ru(x, 3.0f) + __frcp_rn(x) + __fsqrt_rd(x) + (float)(long long)x + (float)(unsigned char)x;
  double y = d[threadIdx.x];
  d[0] = sin(y) + exp(y) + sqrt(y) + y / 3.0 + fma(y, y, 1.0) + (double)(int)y + rint(y) + __dadd_ru(y, 1.0) + table[threadIdx.x % 3];
  h[0] = __hfma(h[1], h[2], h[3]) + hexp(h[4]) + __hmax(h[5], h[6]) + __float2half(x) + hsqrt(h[7]);
  ((__half2*)h)[8] = __hfma2_relu(((__half2*)h)[5], ((__half2*)h)[6], ((__half2*)h)[7]);
  b[0] = __hfma(b[1], b[2], b[3]) + __float2bfloat16(x) + __hmin(b[4], b[5]);
  q[0] = __nv_fp8_e4m3(x);
  f[2] = (float)q[1] + __half2float(h[20]) + __bfloat162float(b[20]) + isnan(x) + isinf(y) + signbit(y);
  f[3] = __int_as_float(__float2int_rn(x)) + __uint2float_rd(__float2uint_ru(x)) + (float)__double2ll_rz(y);
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ Operation operations[2] = {add, multiply};
__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
struct Big { int v[12]; };
__device__ __noinline__ Big rotate(Big b, int by) { Big r; for (int i = 0; i < 12; ++i) r.v[i] = b.v[(i + by) % 12]; return r; }

extern "C" __global__ void calls(int* out, int which, Big big) {
  int r = operations[which](out[0], out[1]) + factorial(which);
  Big turned = rotate(big, which);
  if (r > 100) printf("thread %d has %d and %f\n", threadIdx.x, r, 1.5);
  out[2] = r + turned.v[which % 12];
  if (r == 77) __trap();
  assert(r != 99);
}

extern "C" __global__ void switches(int* out, int which) {
  switch (which) {
    case 0: out[0] = 7; break;
    case 1: out[1] += out[3]; break;
    case 2: out[2] *= out[1]; break;
    case 3: out[3] -= 4; break;
    case 4: out[4] = out[0] / out[1]; break;
    case 5: out[5] = out[7] % out[1]; break;
    case 6: out[6] ^= 5; break;
    default: __nanosleep(100); out[8] = clock(); ((long long*)out)[5] = clock64();
  }
}

extern "C" __global__ void inline_assembly(unsigned* out, const unsigned* in) {
  unsigned a = in[threadIdx.x], b;
  for (int i = 0; i < 2; ++i) {
    asm volatile(
        "{\n"
        "  .reg .pred p, q;\n"
        "  .reg .b32 t<3>;\n"
        "  setp.gt.u32 p|q, %1, 5;\n"
        "  @!p bra SKIP;\n"
        "  mad.lo.u32 t0, %1, (3*4+1), 0x1F;\n"
        "  { .reg .b32 t0; mov.u32 t0, 077; add.u32 t1, t0, 1; }\n"
        "  selp.b32 t2, t0, t1, q;\n"
        "  mov.u32 %0, t2;\n"
        "  bra DONE;\n"
        "SKIP:\n"
        "  mov.u32 %0, -1;\n"
        "DONE:\n"
        "}\n" : "=r"(b) : "r"(a));
    a = b;
  }
  unsigned lo, hi; unsigned long long wide = ((unsigned long long)b << 32) | a;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(lo), "=r"(hi) : "l"(wide));
  asm("{ .reg .b32 t; mov.b64 {t, _}, %1; mov.u32 %0, t; }" : "=r"(hi) : "l"(wide));
  unsigned lane, mask; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  asm volatile("prefetch.global.L2 [%0];" :: "l"(in));
  asm volatile("st.global.wt.v4.u32 [%0+-16], {%1, %1, %2, %2};" :: "l"(out + 8), "r"(lo), "r"(hi) : "memory");
  unsigned d; asm volatile("ld.global.L1::no_allocate.L2::128B.v2.u32 {%0, _}, [%1];" : "=r"(d) : "l"(in));
  asm volatile("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(d) : "r"(lo), "r"(hi), "r"(lane));
  asm volatile("barrier.sync.aligned 1, 64; bar.arrive 2, 64; barrier.cta.red.popc.aligned.u32 %0, 3, 64, 1;" : "=r"(d));
  out[threadIdx.x] = lane + mask + d;
}

struct Shape { __device__ virtual float area(float s) const { return 0; } };
struct Square : Shape { __device__ float area(float s) const override { return s * s; } };
struct Disc : Shape { __device__ float area(float s) const override { return 3.14159f * s * s; } };
extern "C" __global__ void __launch_bounds__(128, 4) virtual_call(float* out, int which) {
  Square square; Disc disc;
  const Shape* shape = which ? (const Shape*)&square : &disc;
  float stack[16];
  for (int i = 0; i < 16; ++i) stack[i] = out[i] * which;
  out[0] = shape->area(stack[which & 15]);
}
