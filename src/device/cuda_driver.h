// NVIDIA's driver API (libcuda), loaded when it is first asked for: nothing here needs a CUDA toolkit or a GPU to build.
// Declares what is used of it, with the types' sizes and the constants' values as cuda.h of CUDA 12 and 13 states them
// (https://docs.nvidia.com/cuda/cuda-driver-api). Internal to device. The table is constant once loaded; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace kw::device::cuda {

using DevicePointer = uint64_t;
struct Context;
struct Module;
struct Function;
struct Stream;
struct Event;
struct Graph;
struct GraphExec;

enum Status : int {
  kSuccess = 0, kOutOfMemory = 2, kNotReady = 600, kIllegalAddress = 700, kLaunchTimeout = 702, kAssert = 710, kHardwareStackError = 714,
  kIllegalInstruction = 715, kMisalignedAddress = 716, kInvalidAddressSpace = 717, kInvalidPc = 718, kLaunchFailed = 719,
};

enum DeviceAttribute : int { kMultiprocessors = 16, kMemoryKhz = 36, kMemoryBusBits = 37, kL2Bytes = 38, kCapabilityMajor = 75, kCapabilityMinor = 76 };

enum StreamFlag : unsigned { kNonBlocking = 1 };
enum EventFlag : unsigned { kTimed = 0, kUntimed = 2 };
enum CaptureMode : int { kCaptureRelaxed = 2 };

enum FunctionAttribute : int { kMaxDynamicShared = 8, kSharedCarveout = 9, kNonportableCluster = 14 };

// CU_JIT_*
enum JitOption : int { kErrorLog = 5, kErrorLogBytes = 6 };

struct LaunchAttribute {
  enum Id : int { kCooperative = 2, kClusterDimension = 4, kProgrammaticOrder = 6 } id;
  int padding = 0;
  std::array<uint32_t, 16> value{};
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  Stream* stream;
  LaunchAttribute* attributes;
  uint32_t attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56);

// CU_LAUNCH_PARAM_*: how a parameter block is handed over whole.
inline void* const kParamEnd = nullptr;
inline void* const kParamPointer = reinterpret_cast<void*>(uintptr_t{1});
inline void* const kParamSize = reinterpret_cast<void*>(uintptr_t{2});

struct Copy2d {
  size_t from_x = 0, from_y = 0;
  int from_kind = 2;               // CU_MEMORYTYPE_DEVICE
  const void* from_host = nullptr;
  DevicePointer from = 0;
  void* from_array = nullptr;
  size_t from_pitch = 0;
  size_t to_x = 0, to_y = 0;
  int to_kind = 2;
  void* to_host = nullptr;
  DevicePointer to = 0;
  void* to_array = nullptr;
  size_t to_pitch = 0;
  size_t width_bytes = 0, height = 0;
};
static_assert(sizeof(Copy2d) == 128);

struct Driver {
  Status (*init)(unsigned flags);
  Status (*driver_version)(int* version);
  Status (*device_count)(int* count);
  Status (*device_get)(int* device, int ordinal);
  Status (*device_name)(char* name, int bytes, int device);
  Status (*device_attribute)(int* value, DeviceAttribute attribute, int device);
  Status (*device_place)(char* place, int bytes, int device);
  Status (*device_memory)(size_t* bytes, int device);
  Status (*context_retain)(Context** context, int device);
  Status (*context_set)(Context* context);
  Status (*context_synchronize)();
  Status (*module_load)(Module** module, const void* image, unsigned options, const JitOption* names, void** values);
  Status (*module_unload)(Module* module);
  Status (*module_function)(Function** function, Module* module, const char* name);
  Status (*module_global)(DevicePointer* address, size_t* bytes, Module* module, const char* name);
  Status (*function_set)(Function* function, FunctionAttribute attribute, int value);
  Status (*launch)(const LaunchConfig* config, Function* function, void** params, void** extra);
  Status (*allocate)(DevicePointer* address, size_t bytes);
  Status (*release)(DevicePointer address);
  Status (*to_device)(DevicePointer to, const void* from, size_t bytes);
  Status (*to_host)(void* to, DevicePointer from, size_t bytes);
  Status (*to_host_later)(void* to, DevicePointer from, size_t bytes, Stream* stream);
  Status (*copy)(DevicePointer to, DevicePointer from, size_t bytes, Stream* stream);
  Status (*copy_2d)(const Copy2d* copy, Stream* stream);
  Status (*fill_8)(DevicePointer to, unsigned char value, size_t count, Stream* stream);
  Status (*fill_2d_8)(DevicePointer to, size_t pitch, unsigned char value, size_t width, size_t height, Stream* stream);
  Status (*fill_2d_16)(DevicePointer to, size_t pitch, unsigned short value, size_t width, size_t height, Stream* stream);
  Status (*fill_2d_32)(DevicePointer to, size_t pitch, unsigned value, size_t width, size_t height, Stream* stream);
  Status (*stream_create)(Stream** stream, unsigned flags);
  Status (*stream_destroy)(Stream* stream);
  Status (*stream_synchronize)(Stream* stream);
  Status (*stream_wait)(Stream* stream, Event* event, unsigned flags);
  Status (*event_create)(Event** event, unsigned flags);
  Status (*event_destroy)(Event* event);
  Status (*event_record)(Event* event, Stream* stream);
  Status (*event_query)(Event* event);
  Status (*event_elapsed)(float* milliseconds, Event* begin, Event* end);
  Status (*capture_begin)(Stream* stream, CaptureMode mode);
  Status (*capture_end)(Stream* stream, Graph** graph);
  Status (*graph_instantiate)(GraphExec** exec, Graph* graph, unsigned long long flags);
  Status (*graph_launch)(GraphExec* exec, Stream* stream);
  Status (*graph_destroy)(Graph* graph);
  Status (*graph_exec_destroy)(GraphExec* exec);
  Status (*reset_persisting_l2)();
  Status (*encode_tiled)(void* map, int type, uint32_t rank, void* address, const uint64_t* extent, const uint64_t* stride, const uint32_t* box,
                         const uint32_t* element_stride, int interleave, int swizzle, int promotion, int fill);
  Status (*error_name)(Status status, const char** name);
  Status (*error_text)(Status status, const char** text);

  // "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
  std::string describe(Status status) const;
};

// Loads and initialises the driver. kNotFound, with what to do, where there is no driver or no GPU.
Result<const Driver*> driver();

}  // namespace kw::device::cuda
