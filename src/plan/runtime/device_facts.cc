#include "plan/runtime/device_facts.h"

#include <algorithm>
#include <cstring>

#include "arch/occupancy.h"

namespace kw::runtime {

const arch::Target& target_of(Backend& backend) {
  static const arch::Target* target = [&] {
    auto found = arch::find_target(backend.target());
    return found ? *found : *arch::find_target("sm_80");
  }();
  return *target;
}

cudaDeviceProp properties(const arch::Target& target) {
  cudaDeviceProp p;
  std::memset(&p, 0, sizeof p);
  const arch::Limits& limits = target.limits;
  std::snprintf(p.name, sizeof p.name, "Kernelwright emulated %.*s", static_cast<int>(target.name.size()), target.name.data());
  p.totalGlobalMem = uint64_t{16} << 30;
  p.sharedMemPerBlock = static_cast<size_t>(limits.shared_per_block_bytes);
  p.regsPerBlock = limits.registers_per_block;
  p.regsPerMultiprocessor = limits.registers_per_sm;
  p.warpSize = 32;
  p.memPitch = 0x7fffffff;
  p.maxThreadsPerBlock = limits.threads_per_block;
  p.maxThreadsDim[0] = limits.block_x;
  p.maxThreadsDim[1] = limits.block_y;
  p.maxThreadsDim[2] = limits.block_z;
  p.maxGridSize[0] = static_cast<int>(limits.grid_x);
  p.maxGridSize[1] = limits.grid_y;
  p.maxGridSize[2] = limits.grid_z;
  p.totalConstMem = static_cast<size_t>(limits.constant_bytes);
  p.major = target.major;
  p.minor = target.minor;
  p.textureAlignment = p.surfaceAlignment = 512;
  p.texturePitchAlignment = 32;
  p.multiProcessorCount = std::max(target.part.sm_count, 1);
  p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = p.managedMemory = 1;
  p.asyncEngineCount = 1;
  p.memoryBusWidth = 4096;
  p.l2CacheSize = static_cast<int>(target.part.l2_bytes);
  p.persistingL2CacheMaxSize = static_cast<int>(target.part.l2_bytes / 4 * 3);
  p.accessPolicyMaxWindowSize = 128 << 20;
  p.maxThreadsPerMultiProcessor = limits.threads_per_sm;
  p.streamPrioritiesSupported = p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = static_cast<size_t>(limits.shared_per_sm_bytes);
  p.concurrentManagedAccess = p.computePreemptionSupported = p.cooperativeLaunch = 1;
  p.sharedMemPerBlockOptin = static_cast<size_t>(limits.shared_per_block_optin_bytes);
  p.maxBlocksPerMultiProcessor = limits.blocks_per_sm;
  p.reservedSharedMemPerBlock = static_cast<size_t>(limits.shared_reserved_bytes);
  p.hostRegisterSupported = p.memoryPoolsSupported = 1;
  p.clusterLaunch = limits.cluster_blocks > 1 ? 1 : 0;
  return p;
}

int estimated_registers(const arch::Target& target, const Kernel& kernel) {
  if (kernel.entry == nullptr) return 64;
  if (kernel.entry->max_registers != 0) return static_cast<int>(std::min(kernel.entry->max_registers, 255u));
  const uint32_t threads = kernel.entry->max_threads == 0 ? 1024 : kernel.entry->max_threads;
  const uint32_t blocks = std::max(kernel.entry->min_blocks, 1u);
  const uint64_t fits = static_cast<uint64_t>(target.limits.registers_per_sm) / std::max<uint64_t>(uint64_t{threads} * blocks, 1) / 8 * 8;
  return static_cast<int>(std::clamp<uint64_t>(fits, 16, 64));
}

int blocks_per_sm(const arch::Target& target, const Kernel& kernel, int threads, uint64_t dynamic_shared) {
  if (threads <= 0 || threads > target.limits.threads_per_block) return 0;
  if (kernel.entry != nullptr && kernel.entry->max_threads != 0 && threads > static_cast<int>(kernel.entry->max_threads)) return 0;
  const uint64_t shared = (kernel.entry == nullptr ? 0 : kernel.entry->static_shared_bytes) + std::min<uint64_t>(dynamic_shared, 1u << 30);
  return arch::occupancy(target, estimated_registers(target, kernel), static_cast<int64_t>(shared), threads).blocks_per_sm;
}

}  // namespace kw::runtime
