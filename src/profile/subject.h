// Everything that is known of a candidate at one workload before any tool looks at it. Values.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/occupancy.h"
#include "emu/finding.h"
#include "problem/problem.h"
#include "profile/counters.h"
#include "profile/estimate.h"
#include "profile/measure.h"
#include "toolchain/ptx_facts.h"
#include "toolchain/sass_facts.h"

namespace kw::profile {

// How the profiled workload launches a kernel: from the recorded plan.
struct Launched {
  uint64_t launches = 0, blocks = 0;             // blocks of all of them
  std::array<uint32_t, 3> grid{}, block{};       // of the one with the most blocks
  uint32_t threads = 0, dynamic_shared_bytes = 0;
  uint64_t largest_blocks = 0;
  double buffer_bytes = 0;                       // of the buffers that the parameters point into, each once
  std::string source_file;                       // the host line of the first launch
  uint32_t source_line = 0;
};

// What one PTX instruction does in the profiled workload: emu::SiteCounters, scaled.
struct Site {
  emu::Party party;
  emu::Counters::Class instruction_class = emu::Counters::kOther;
  ptx::Space space = ptx::Space::kNone;
  double warps = 0, threads = 0;
  double requests = 0, bytes = 0, sectors = 0, lines = 0, wavefronts = 0, ideal_wavefronts = 0;
  double address_passes = 0, addresses = 0;      // addresses: as counted
  bool is_global() const { return requests > 0 && (space == ptx::Space::kGlobal || space == ptx::Space::kNone); }
  bool is_load() const { return instruction_class == emu::Counters::kLoad || instruction_class == emu::Counters::kMatrixLoad; }
  bool is_copy() const { return instruction_class == emu::Counters::kAsyncCopy; }
  bool is_atomic() const { return instruction_class == emu::Counters::kAtomic; }
};

// Sums over the sites of a kernel.
struct Totals {
  std::array<double, emu::Counters::kClasses> warps{}, threads{};   // instructions
  double instructions = 0;                       // of warps
  double load_requests = 0, load_bytes = 0, load_sectors = 0;       // global, asynchronous copies with them
  double copied_bytes = 0;                       // by those
  double store_requests = 0, store_sectors = 0;  // global
  double local_loads = 0, local_stores = 0, local_sectors = 0;
  double block_sectors = 0;                      // distinct ones that a block loads, over all blocks
};

struct Kernel {
  std::string mangled, name;
  toolchain::PtxFacts ptx;
  std::optional<toolchain::Resources> resources;
  std::optional<toolchain::SassFacts> sass;
  Launched launched;
  arch::Occupancy occupancy;                     // as launched
  // What the emulator counted, on the workload that is counted.
  bool counted = false;                          // that one launches the kernel too
  Launched counted_launched;
  emu::Counters counters;                        // as counted
  std::vector<Site> sites;                       // scaled to the profiled workload (scale.h)
  Totals totals;
  std::optional<HardwareCounters> hardware;      // of the GPU, at the profiled workload; caches empty before each launch
  Work work;                                     // at the profiled workload
  Time time;
  double share = 0;                              // of the estimated time of all kernels

  double warps() const;                          // of all launches
};

// What the counts are of.
enum class CountedAs : uint8_t {
  kShortened,   // a workload that differs from the profiled one in its number of blocks only
  kSampled,     // some blocks of the profiled workload's own launches
  kScaled,      // another workload that launches the same kernels
};

std::string_view name_of(CountedAs how);   // "shortened", …

// The GPU that a candidate is measured on: its architecture, with what the device itself says.
struct DeviceTarget {
  std::string name;
  arch::Target target;
};

// How reading the GPU's own counters went.
struct CounterReading {
  std::string version;                           // of ncu
  uint64_t launches = 0;                         // that were looked at
  std::vector<std::string> without;              // metrics of ncu that it did not have
  std::string why_not;                           // not empty: nothing was read
};

struct Subject {
  const problem::Problem* problem = nullptr;
  const arch::Target* target = nullptr;
  std::shared_ptr<const DeviceTarget> device;    // holds `target`, where a GPU is asked
  std::string candidate, source_folder;
  problem::Workload workload, counted_workload;
  std::string uncounted;                         // why the emulator counted nothing; empty: it did
  problem::Cost cost, counted_cost;
  std::optional<tensor::DType> matmul_dtype;     // of the operands, where most operations are those of a matrix product
  std::vector<Kernel> kernels;                   // of the profiled workload, the longest first
  CountedAs counted_as = CountedAs::kScaled;
  uint64_t sampled_blocks = 0, all_blocks = 0;   // where sampled: of all launches
  bool counts_exactly() const { return counted_as != CountedAs::kSampled || sampled_blocks == all_blocks; }   // at the counted workload
  uint64_t launches = 0, other_steps = 0;        // of the profiled plan
  double seconds = 0;                            // estimated, launches included; where nothing was counted, of moving the buffers alone
  std::optional<Measured> measured;              // on a GPU
  std::optional<CounterReading> counter_reading; // there, where it was asked for
  std::vector<std::string> notes;                // what is missing or stands on other feet

  // How many times faster the candidate becomes when `kernel` does `work` instead, by estimate().
  double gain(const Kernel& kernel, const Work& work) const;
  // The same where the estimate leaves the fault out, and `kernel` really does `work`.
  double gain_from(const Kernel& kernel, const Work& work) const;
  double gain_without(double seconds_saved) const;
  bool has_dtype(tensor::DType dtype) const;     // of an input or output
};

// Fills work, time and share of every kernel, seconds, and the order of the kernels.
void estimate_all(Subject& subject);

}  // namespace kw::profile
