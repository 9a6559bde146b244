// Hopper: mbarrier, bulk copies, tensor maps, wgmma, clusters, setmaxnreg, elect.
#include <cstdint>
#include <cuda.h>

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256, 1)
pipeline(const __grid_constant__ CUtensorMap map, const uint4* source, float* out, int rounds) {
  __shared__ __align__(1024) unsigned char tile[16384];
  __shared__ __align__(8) uint64_t full, empty;
  unsigned tile_address = (unsigned)__cvta_generic_to_shared(tile);
  unsigned full_address = (unsigned)__cvta_generic_to_shared(&full), empty_address = (unsigned)__cvta_generic_to_shared(&empty);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(full_address), "r"(1));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(empty_address));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("prefetch.tensormap [%0];" :: "l"(&map) : "memory");
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;");
  if (threadIdx.x >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    unsigned leader;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xFFFFFFFF; selp.b32 %0, 1, 0, p; }" : "=r"(leader));
    if (leader)
      for (int i = 0; i < rounds; ++i) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(full_address), "r"(16384) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
                     " [%0], [%1, {%3, %4}], [%2], %5, %6;"
                     :: "r"(tile_address), "l"(&map), "r"(full_address), "r"(i), "r"(0), "h"((uint16_t)3), "l"(0x12F0000000000000ull) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(tile_address), "l"(source), "r"(1024), "r"(full_address) : "memory");
      }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    float c[4] = {0, 0, 0, 0};
    uint64_t descriptor = 0x4000004000010000ull | ((tile_address & 0x3FFFF) >> 4);
    for (int i = 0; i < rounds; ++i) {
      asm volatile(
          "{\n.reg .pred done;\nWAIT:\n"
          "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra READY;\nbra WAIT;\nREADY:\n}"
          :: "r"(full_address), "r"(i & 1));
      asm volatile("wgmma.fence.sync.aligned;");
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"
                   "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 1; }"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(descriptor), "l"(descriptor), "r"(i));
      asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;");
      unsigned remote;
      asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(remote) : "r"(empty_address));
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(remote));
    }
    unsigned packed = __float_as_uint(c[0]);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" :: "r"(tile_address + threadIdx.x * 16), "r"(packed) : "memory");
    asm volatile("fence.proxy.async.shared::cta;");
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" :: "l"(&map), "r"(0), "r"(1), "r"(tile_address) : "memory");
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;" :: "l"(out), "r"(tile_address) : "memory");
      asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;");
    }
    out[threadIdx.x] = c[0] + c[1] + c[2] + c[3];
    asm volatile("griddepcontrol.launch_dependents; griddepcontrol.wait;");
  }
}
