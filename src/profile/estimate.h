// A kernel's time from counts: an estimate, to rank by when there is no GPU and to tell what a change may gain. Nothing
// here is fitted to a kernel. Pure; thread-safe.
//
//   time = (Σ tᵢ⁴)^¼ over the resources below, which overlap but not wholly: the largest decides, its neighbours show.
//   dram     bytes / (0.9 · peak): streams reach about nine tenths of the specified rate
//   l2       bytes between L2 and SMs / (one sector a clock and SM)
//   lsu      passes through an SM's load/store path: a 128-byte line or a shared-memory wavefront a clock
//   starts   one block of the whole grid a clock
//   issue    warp instructions / (one a clock and sub-partition)
//   fp32 …   warp instructions of a class · 32 / lanes a clock and SM
//   tensor   operations / peak of the operands' type
//   atomics  the busiest lines take one update a clock
//   latency  waves · what one warp waits for: 4 clocks an instruction (dependent issue), global loads in groups of
//            those in flight together (from L1, L2 or DRAM), shared loads, barriers; the busiest warp of a block decides
// What runs on the SMs (all but dram) waits for the SM with the most blocks: ⌈blocks / SMs⌉ of them.
// Sources: CUDA C++ Programming Guide, "Arithmetic Instructions" (results per clock and SM); specifications in arch;
// latencies in clocks from Abdelkhalik et al., "Demystifying the Nvidia Ampere Architecture through
// Microbenchmarking" (2022), rounded; that of a load from DRAM, the rate at which blocks start and that of atomics as
// seen on an H200 (docs/perf/estimate.md).
#pragma once

#include <array>
#include <string_view>

#include "arch/target.h"
#include "emu/finding.h"
#include "tensor/dtype.h"

namespace kw::profile {

inline constexpr double kLaunchSeconds = 2.5e-6;   // a launch after another in a stream, until its first block runs
inline constexpr double kSectorBytes = 32;

// What one kernel does in a call, all its launches together.
struct Work {
  double launches = 1, blocks = 1;            // blocks of all launches
  double warps_per_block = 1;
  double blocks_per_sm = 1;                   // resident together
  double dram_bytes = 0, l2_bytes = 0;
  double line_passes = 0;                     // global and local accesses, by lines of four sectors
  double spills = 0, l2_spills = 0;           // warp instructions that spill, a line each; those that L2 serves
  double shared_passes = 0;                   // wavefronts
  std::array<double, emu::Counters::kClasses> instructions{};   // of warps, by class
  double tensor_operations = 0;
  tensor::DType tensor_dtype = tensor::DType::kF16;
  double atomic_updates = 0, atomic_lines = 1;
  double load_waits = 0, shared_loads = 0, barriers = 0;        // of a warp: groups of global loads it waits for, …
  double l1_share = 0, l2_share = 0;          // of those: what L1 has, and what L2 has of the others
  double block_imbalance = 1, warp_imbalance = 1, load_imbalance = 1;   // the busiest over the average; the last: of a block's warps, in waits
  double issued() const;
};

struct Time {
  enum Resource : uint8_t { kDram, kL2, kLsu, kStarts, kIssue, kFp32, kFp64, kInteger, kConversion, kSpecial, kTensor, kAtomics, kLatency, kResources };
  std::array<double, kResources> seconds{};
  double launch = 0;                          // kLaunchSeconds for each launch
  double total = 0;
  Resource bound() const;
};
std::string_view name_of(Time::Resource resource);

Time estimate(const Work& work, const arch::Target& target);

// Operations a second of a tensor core on operands of this type, or 0 when the target's part states none.
double tensor_peak(const arch::Target& target, tensor::DType dtype);
double clock_hz(const arch::Target& target);

}  // namespace kw::profile
