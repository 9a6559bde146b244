// GPU architectures as data: what a launch may ask for, which instructions exist, how fast a reference part is.
//
// Sources: CUDA C++ Programming Guide, "Compute Capabilities" (technical specifications per compute capability);
// PTX ISA, "Target ISA Notes" of each instruction and "Release Notes" (versions); NVIDIA architecture whitepapers
// and datasheets for the reference parts (named in targets.cc). Constant data; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::arch {

// What an architecture can do beyond the SIMT core of sm_70. One bit each.
enum class Feature : uint32_t {
  kMmaInt8,         // mma.sync on 8-bit integers (sm_72)
  kMmaInt4,         // mma.sync on 4-bit integers and single bits (sm_75)
  kLdmatrix,        // sm_75
  kCpAsync,         // cp.async, and mbarrier (sm_80)
  kMmaBf16,         // mma.sync on bf16 and tf32 (sm_80)
  kMmaF64,          // sm_80
  kMmaSparse,       // mma.sp (sm_80)
  kRedux,           // redux.sync on integers (sm_80)
  kFp8,             // cvt and mma.sync on e4m3 and e5m2 (sm_89)
  kCluster,         // thread-block clusters, distributed shared memory, mapa, barrier.cluster (sm_90)
  kBulkCopy,        // cp.async.bulk and tensor maps, fence.proxy, elect, griddepcontrol, stmatrix (sm_90)
  kWgmma,           // sm_90a
  kSetmaxnreg,      // sm_90a and the accelerated targets after it
  kTcgen05,         // tensor memory and the fifth tensor core (sm_100a, 103a, 110a and their families)
  kMmaBlockScale,   // mma.sync kind::mxf8f6f4, mxf4, mxf4nvf4 (sm_120a, 121a and their family)
  kNarrowConvert,   // cvt to and from e2m1, e2m3, e3m2, ue8m0 (the accelerated targets from sm_100)
  kPackedF32,       // add, mul, fma on f32x2 (sm_100)
};

struct Limits {
  int threads_per_block = 1024;
  int block_x = 1024, block_y = 1024, block_z = 64;
  int64_t grid_x = 2147483647;
  int grid_y = 65535, grid_z = 65535;
  int threads_per_sm = 0;
  int warps_per_sm = 0;
  int blocks_per_sm = 0;
  int registers_per_sm = 65536;
  int registers_per_block = 65536;
  int registers_per_thread = 255;
  int register_unit = 256;  // registers are given to a warp in multiples of this
  int sub_partitions = 4;   // of an SM; each has a quarter of its registers and warps
  int shared_per_sm_bytes = 0;
  int shared_per_block_bytes = 49152;      // without opting in
  int shared_per_block_optin_bytes = 0;    // with cudaFuncAttributeMaxDynamicSharedMemorySize
  int shared_reserved_bytes = 0;           // taken from the SM by the system for each block
  int shared_unit_bytes = 0;               // shared memory is given to a block in multiples of this
  int constant_bytes = 65536;
  int parameter_bytes = 32764;             // of one kernel (CUDA 12.1; 4096 before)
  int named_barriers = 16;
  int cluster_blocks = 0;                  // portable maximum; 0 where there are no clusters
  int cluster_blocks_nonportable = 0;
};

// Of one product, so that estimates have something to stand on. 0: not published. Dense (not sparse) rates in
// tera-operations per second (an FMA is two), tensor rates with fp32 (or int32) accumulation.
struct ReferencePart {
  std::string_view product;
  int sm_count = 0;
  int64_t l2_bytes = 0;
  double boost_mhz = 0;
  double dram_gbps = 0;  // 10^9 bytes per second
  double fp32_tflops = 0;
  double fp64_tflops = 0;
  double tensor_fp16_tflops = 0;  // and bf16 where there is bf16
  double tensor_tf32_tflops = 0;
  double tensor_fp8_tflops = 0;
  double tensor_fp4_tflops = 0;
  double tensor_int8_tops = 0;
  double tensor_fp64_tflops = 0;
};

struct Target {
  std::string_view name;  // "sm_90a"
  int major = 0, minor = 0;
  char variant = '\0';    // 'a' (this chip only), 'f' (its family) or none
  int ptx_major = 0, ptx_minor = 0;  // the first PTX version that knows the target
  uint32_t features = 0;
  Limits limits;
  ReferencePart part;

  bool has(Feature feature) const { return (features >> static_cast<uint32_t>(feature) & 1u) != 0; }
  int number() const { return major * 10 + minor; }  // 90 for sm_90a
  // Can a module of this target run on a device of architecture `device`? Plain targets run on their own and later
  // architectures, 'f' on the same family (major version) from their own on, 'a' on their own only.
  bool runs_on(const Target& device) const;
};

// In ascending order; the plain target before its variants.
const std::vector<Target>& all_targets();

// "sm_80"; "compute_80" and "80" mean the same. The error lists what there is and the nearest name.
Result<const Target*> find_target(std::string_view name);

// The target of a device of compute capability major.minor with everything that device can do (its 'a' variant
// where there is one). Error kUnsupported.
Result<const Target*> target_of_device(int major, int minor);

// Does PTX version major.minor know the target?
bool ptx_knows(int ptx_major, int ptx_minor, const Target& target);

std::string_view name(Feature feature);

}  // namespace kw::arch
