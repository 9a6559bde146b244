// Attributes of kernels and occupancy.
#include <algorithm>
#include <cstring>

#include "plan/runtime/device_facts.h"
#include "plan/runtime/launch.h"
#include "plan/runtime/state.h"

using namespace kw::runtime;  // NOLINT: the C functions below are this file's purpose

namespace {

// The kernel, or the error that the program sees.
cudaError_t find(Call& call, const void* function, Kernel** out) {
  *out = call.state().find_kernel(function);
  if (*out == nullptr) return call.done(cudaErrorInvalidDeviceFunction);
  if (!problem_of(**out).empty()) return call.done(cudaErrorNoKernelImageForDevice);
  return cudaSuccess;
}

cudaError_t set_attribute(Call& call, const void* function, cudaFuncAttribute attribute, int value) {
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find(call, function, &kernel); error != cudaSuccess) return error;
  const kw::arch::Target& target = target_of(call.backend());
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || static_cast<uint64_t>(value) + kernel->entry->static_shared_bytes >
                           static_cast<uint64_t>(target.limits.shared_per_block_optin_bytes))
        return call.done(cudaErrorInvalidValue);
      kernel->max_dynamic_shared_bytes = value;
      return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) return call.done(cudaErrorInvalidValue);
      kernel->shared_carveout_percent = value;
      return cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed: kernel->nonportable_cluster = value != 0; return cudaSuccess;
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
      kernel->required_cluster[static_cast<size_t>(attribute - cudaFuncAttributeRequiredClusterWidth)] = static_cast<uint32_t>(std::max(value, 0));
      return cudaSuccess;
    default: return cudaSuccess;
  }
}

cudaError_t occupancy(Call& call, int* blocks, const void* function, int threads, size_t dynamic_shared) {
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find(call, function, &kernel); error != cudaSuccess) return error;
  if (blocks == nullptr || threads <= 0) return call.done(cudaErrorInvalidValue);
  *blocks = blocks_per_sm(target_of(call.backend()), *kernel, threads, dynamic_shared);
  return cudaSuccess;
}

uint32_t cluster_of(const cudaLaunchConfig_t& config) {
  uint32_t blocks = 1;
  for (unsigned i = 0; config.attrs != nullptr && i < config.numAttrs; ++i)
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension)
      blocks = config.attrs[i].val.clusterDim.x * config.attrs[i].val.clusterDim.y * config.attrs[i].val.clusterDim.z;
  return std::max(blocks, 1u);
}

}  // namespace

extern "C" {

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  Call call("cudaFuncSetAttribute");
  return set_attribute(call, function, attribute, value);
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int) {
  Call call("cudaKernelSetAttributeForDevice");
  return set_attribute(call, kernel, attribute, value);
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaFuncSetSharedMemConfig(const void*, cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* function) {
  Call call("cudaFuncGetAttributes");
  Kernel* kernel = nullptr;
  if (out == nullptr) return call.done(cudaErrorInvalidValue);
  if (const cudaError_t error = find(call, function, &kernel); error != cudaSuccess) return error;
  const kw::arch::Target& target = target_of(call.backend());
  std::memset(out, 0, sizeof *out);
  out->sharedSizeBytes = kernel->entry->static_shared_bytes;
  out->numRegs = estimated_registers(target, *kernel);
  const uint32_t by_registers = static_cast<uint32_t>(target.limits.registers_per_sm / std::max(out->numRegs, 1)) / 32 * 32;
  const uint32_t promised = kernel->entry->max_threads == 0 ? static_cast<uint32_t>(target.limits.threads_per_block) : kernel->entry->max_threads;
  out->maxThreadsPerBlock = static_cast<int>(std::min(promised, std::max(by_registers, 32u)));
  out->ptxVersion = out->binaryVersion = target.number();
  out->maxDynamicSharedSizeBytes = kernel->max_dynamic_shared_bytes >= 0
                                       ? kernel->max_dynamic_shared_bytes
                                       : static_cast<int>(static_cast<uint64_t>(target.limits.shared_per_block_bytes) - std::min(static_cast<uint64_t>(target.limits.shared_per_block_bytes), kernel->entry->static_shared_bytes));
  out->preferredShmemCarveout = kernel->shared_carveout_percent;
  out->requiredClusterWidth = static_cast<int>(kernel->required_cluster[0]);
  out->requiredClusterHeight = static_cast<int>(kernel->required_cluster[1]);
  out->requiredClusterDepth = static_cast<int>(kernel->required_cluster[2]);
  return cudaSuccess;
}
cudaError_t cudaFuncGetName(const char** name, const void* function) {
  Call call("cudaFuncGetName");
  Kernel* kernel = call.state().find_kernel(function);
  if (kernel == nullptr || name == nullptr) return call.done(cudaErrorInvalidDeviceFunction);
  *name = kernel->name.c_str();
  return cudaSuccess;
}
cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
  Call call("cudaFuncGetParamInfo");
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find(call, function, &kernel); error != cudaSuccess) return error;
  if (index >= kernel->entry->params.size()) return call.done(cudaErrorInvalidValue);
  if (offset != nullptr) *offset = kernel->entry->params[index].offset;
  if (bytes != nullptr) *bytes = kernel->entry->params[index].bytes;
  return cudaSuccess;
}
cudaError_t cudaGetKernel(cudaKernel_t* out, const void* function) {
  Call call("cudaGetKernel");
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find(call, function, &kernel); error != cudaSuccess) return error;
  *out = reinterpret_cast<cudaKernel_t>(kernel);
  return cudaSuccess;
}
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* out, const void* function) {
  Call call("cudaGetFuncBySymbol");
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find(call, function, &kernel); error != cudaSuccess) return error;
  *out = reinterpret_cast<cudaFunction_t>(kernel);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, size_t dynamic_shared) {
  Call call("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return occupancy(call, blocks, function, threads, dynamic_shared);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads, size_t dynamic_shared,
                                                                   unsigned) {
  Call call("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  return occupancy(call, blocks, function, threads, dynamic_shared);
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks, int) {
  Call call("cudaOccupancyAvailableDynamicSMemPerBlock");
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find(call, function, &kernel); error != cudaSuccess) return error;
  if (bytes == nullptr || blocks <= 0) return call.done(cudaErrorInvalidValue);
  const kw::arch::Target& target = target_of(call.backend());
  const uint64_t used = kernel->entry->static_shared_bytes + static_cast<uint64_t>(target.limits.shared_reserved_bytes);
  const uint64_t each = static_cast<uint64_t>(target.limits.shared_per_sm_bytes) / static_cast<uint64_t>(blocks);
  *bytes = each > used ? std::min<uint64_t>(each - used, static_cast<uint64_t>(target.limits.shared_per_block_optin_bytes)) : 0;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function, const cudaLaunchConfig_t* config) {
  Call call("cudaOccupancyMaxActiveClusters");
  if (clusters == nullptr || config == nullptr) return call.done(cudaErrorInvalidValue);
  int blocks = 0;
  const int threads = static_cast<int>(config->blockDim.x * config->blockDim.y * config->blockDim.z);
  if (const cudaError_t error = occupancy(call, &blocks, function, threads, config->dynamicSmemBytes); error != cudaSuccess) return error;
  *clusters = blocks * std::max(target_of(call.backend()).part.sm_count, 1) / static_cast<int>(cluster_of(*config));
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, const void* function, const cudaLaunchConfig_t*) {
  Call call("cudaOccupancyMaxPotentialClusterSize");
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find(call, function, &kernel); error != cudaSuccess) return error;
  const kw::arch::Limits& limits = target_of(call.backend()).limits;
  *blocks = std::max(kernel->nonportable_cluster ? limits.cluster_blocks_nonportable : limits.cluster_blocks, 1);
  return cudaSuccess;
}

}  // extern "C"
