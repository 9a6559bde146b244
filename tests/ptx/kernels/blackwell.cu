// Blackwell, data centre: tensor memory, tcgen05, pairs of floats, 256-bit accesses.
#include <cstdint>

extern "C" __global__ void tensor_memory(float* out, uint64_t descriptor, uint32_t instruction) {
  __shared__ uint32_t base;
  __shared__ __align__(8) uint64_t barrier;
  uint32_t base_address = (uint32_t)__cvta_generic_to_shared(&base), barrier_address = (uint32_t)__cvta_generic_to_shared(&barrier);
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" :: "r"(base_address) : "memory");
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  __syncthreads();
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0;\n"
               "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %1, %2, {%3, %3, %3, %3}, p; }"
               :: "r"(base), "l"(descriptor), "r"(instruction), "r"(0));
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(barrier_address) : "memory");
  asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" :: "r"(base), "l"(descriptor));
  asm volatile("tcgen05.fence::after_thread_sync;");
  uint32_t v[4];
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(base));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  asm volatile("tcgen05.st.sync.aligned.16x64b.x2.b32 [%0], {%1, %2};" :: "r"(base), "r"(v[0]), "r"(v[1]));
  asm volatile("tcgen05.wait::st.sync.aligned;");
  float f[4];
  uint64_t pair = (uint64_t)v[1] << 32 | v[0];
  asm volatile("fma.rn.f32x2 %0, %0, %0, %0;" : "+l"(pair));
  asm volatile("ld.global.v8.f32 {%0, %1, %2, %3, _, _, _, _}, [%4];" : "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3]) : "l"(out));
  out[threadIdx.x] = v[0] + v[1] + v[2] + v[3] + pair + f[0] + f[3];
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" :: "r"(base));
}
