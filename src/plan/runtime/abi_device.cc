// The one device: attributes, properties, limits.
#include <cstdio>
#include <cstring>

#include "plan/runtime/device_facts.h"
#include "plan/runtime/state.h"

using namespace kw::runtime;  // NOLINT: the C functions below are this file's purpose

namespace {

// -1: an attribute that is not answered from the properties.
int attribute_of(const cudaDeviceProp& p, const kw::arch::Target& target, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: return static_cast<int>(p.maxThreadsPerBlock);
    case cudaDevAttrMaxBlockDimX: return static_cast<int>(p.maxThreadsDim[0]);
    case cudaDevAttrMaxBlockDimY: return static_cast<int>(p.maxThreadsDim[1]);
    case cudaDevAttrMaxBlockDimZ: return static_cast<int>(p.maxThreadsDim[2]);
    case cudaDevAttrMaxGridDimX: return static_cast<int>(p.maxGridSize[0]);
    case cudaDevAttrMaxGridDimY: return static_cast<int>(p.maxGridSize[1]);
    case cudaDevAttrMaxGridDimZ: return static_cast<int>(p.maxGridSize[2]);
    case cudaDevAttrMaxSharedMemoryPerBlock: return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory: return static_cast<int>(p.totalConstMem);
    case cudaDevAttrWarpSize: return static_cast<int>(p.warpSize);
    case cudaDevAttrMaxPitch: return static_cast<int>(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock: return static_cast<int>(p.regsPerBlock);
    case cudaDevAttrTextureAlignment: return static_cast<int>(p.textureAlignment);
    case cudaDevAttrTexturePitchAlignment: return static_cast<int>(p.texturePitchAlignment);
    case cudaDevAttrMultiProcessorCount: return static_cast<int>(p.multiProcessorCount);
    case cudaDevAttrIntegrated: return static_cast<int>(p.integrated);
    case cudaDevAttrCanMapHostMemory: return static_cast<int>(p.canMapHostMemory);
    case cudaDevAttrSurfaceAlignment: return static_cast<int>(p.surfaceAlignment);
    case cudaDevAttrConcurrentKernels: return static_cast<int>(p.concurrentKernels);
    case cudaDevAttrEccEnabled: return static_cast<int>(p.ECCEnabled);
    case cudaDevAttrPciBusId: return static_cast<int>(p.pciBusID);
    case cudaDevAttrPciDeviceId: return static_cast<int>(p.pciDeviceID);
    case cudaDevAttrPciDomainId: return static_cast<int>(p.pciDomainID);
    case cudaDevAttrTccDriver: return static_cast<int>(p.tccDriver);
    case cudaDevAttrGlobalMemoryBusWidth: return static_cast<int>(p.memoryBusWidth);
    case cudaDevAttrL2CacheSize: return static_cast<int>(p.l2CacheSize);
    case cudaDevAttrMaxThreadsPerMultiProcessor: return static_cast<int>(p.maxThreadsPerMultiProcessor);
    case cudaDevAttrAsyncEngineCount: return static_cast<int>(p.asyncEngineCount);
    case cudaDevAttrUnifiedAddressing: return static_cast<int>(p.unifiedAddressing);
    case cudaDevAttrComputeCapabilityMajor: return static_cast<int>(p.major);
    case cudaDevAttrComputeCapabilityMinor: return static_cast<int>(p.minor);
    case cudaDevAttrStreamPrioritiesSupported: return static_cast<int>(p.streamPrioritiesSupported);
    case cudaDevAttrGlobalL1CacheSupported: return static_cast<int>(p.globalL1CacheSupported);
    case cudaDevAttrLocalL1CacheSupported: return static_cast<int>(p.localL1CacheSupported);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return static_cast<int>(p.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxRegistersPerMultiprocessor: return static_cast<int>(p.regsPerMultiprocessor);
    case cudaDevAttrManagedMemory: return static_cast<int>(p.managedMemory);
    case cudaDevAttrIsMultiGpuBoard: return static_cast<int>(p.isMultiGpuBoard);
    case cudaDevAttrMultiGpuBoardGroupID: return static_cast<int>(p.multiGpuBoardGroupID);
    case cudaDevAttrHostNativeAtomicSupported: return static_cast<int>(p.hostNativeAtomicSupported);
    case cudaDevAttrPageableMemoryAccess: return static_cast<int>(p.pageableMemoryAccess);
    case cudaDevAttrConcurrentManagedAccess: return static_cast<int>(p.concurrentManagedAccess);
    case cudaDevAttrComputePreemptionSupported: return static_cast<int>(p.computePreemptionSupported);
    case cudaDevAttrCanUseHostPointerForRegisteredMem: return static_cast<int>(p.canUseHostPointerForRegisteredMem);
    case cudaDevAttrCooperativeLaunch: return static_cast<int>(p.cooperativeLaunch);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(p.sharedMemPerBlockOptin);
    case cudaDevAttrHostRegisterSupported: return static_cast<int>(p.hostRegisterSupported);
    case cudaDevAttrDirectManagedMemAccessFromHost: return static_cast<int>(p.directManagedMemAccessFromHost);
    case cudaDevAttrMaxBlocksPerMultiprocessor: return static_cast<int>(p.maxBlocksPerMultiProcessor);
    case cudaDevAttrMaxPersistingL2CacheSize: return static_cast<int>(p.persistingL2CacheMaxSize);
    case cudaDevAttrMaxAccessPolicyWindowSize: return static_cast<int>(p.accessPolicyMaxWindowSize);
    case cudaDevAttrReservedSharedMemoryPerBlock: return static_cast<int>(p.reservedSharedMemPerBlock);
    case cudaDevAttrMemoryPoolsSupported: return static_cast<int>(p.memoryPoolsSupported);
    case cudaDevAttrClusterLaunch: return static_cast<int>(p.clusterLaunch);
    case cudaDevAttrClockRate: return static_cast<int>(target.part.boost_mhz * 1000);
    case cudaDevAttrMemoryClockRate: return static_cast<int>(target.part.dram_gbps * 1e6 * 8 / 4096 / 2);
    case cudaDevAttrGpuOverlap: return 1;
    case cudaDevAttrComputeMode: return 0;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: return target.part.fp64_tflops > 0 && target.part.fp32_tflops < 4 * target.part.fp64_tflops ? 2 : 64;
    default: return 0;   // textures, surfaces, interprocess memory: not here
  }
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) { *count = 1; return cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  Call call("cudaSetDevice");
  return call.done(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
cudaError_t cudaSetValidDevices(int*, int) { return cudaSuccess; }
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaGetDeviceFlags(unsigned* flags) { *flags = 0; return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int device) {
  Call call("cudaGetDeviceProperties");
  if (out == nullptr || device != 0) return call.done(cudaErrorInvalidDevice);
  *out = properties(target_of(call.backend()));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  Call call("cudaDeviceGetAttribute");
  if (device != 0) return call.done(cudaErrorInvalidDevice);
  if (value == nullptr) return call.done(cudaErrorInvalidValue);
  const kw::arch::Target& known = target_of(call.backend());
  *value = attribute_of(properties(known), known, attribute);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* out, int length, int) { std::snprintf(out, static_cast<size_t>(length), "0000:00:00.0"); return cudaSuccess; }
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char*) { *device = 0; return cudaSuccess; }
cudaError_t cudaDeviceReset() {
  Call call("cudaDeviceReset");
  call.backend().host_waits_for_all();
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  *value = limit == cudaLimitStackSize ? 1024 : limit == cudaLimitPrintfFifoSize ? 1u << 20 : limit == cudaLimitMallocHeapSize ? 8u << 20 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) { *config = cudaFuncCachePreferNone; return cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) { *config = cudaSharedMemBankSizeFourByte; return cudaSuccess; }
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { *can = 0; return cudaSuccess; }
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { Call call("cudaDeviceEnablePeerAccess"); return call.done(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceDisablePeerAccess(int) { Call call("cudaDeviceDisablePeerAccess"); return call.done(cudaErrorPeerAccessNotEnabled); }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
// Describes the elements of an array, which this runtime does not have: programs make one before they ask for it.
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) { return {x, y, z, w, kind}; }
cudaError_t cudaDriverGetVersion(int* version) { *version = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { *version = CUDART_VERSION; return cudaSuccess; }

}  // extern "C"
