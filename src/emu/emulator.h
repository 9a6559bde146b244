// The PTX emulator: load a module, run a launch, get results in Memory and a LaunchReport.
//
// Meaning: PTX ISA 9.x for targets sm_70 to sm_89 (SIMT core, cp.async, ldmatrix, mma.sync, wmma).
// An instruction the emulator lacks is an error when the kernel that contains it is launched: it names
// the form and the line, and nothing is skipped.
// Blocks run on `Options::threads` host threads; results, findings and counters do not depend on their
// number (kernels with order-sensitive global atomics or grid barriers run their blocks in one fixed
// interleaving). Candidate code is data here: no PTX can harm the process, hang it past the bounds in
// Options, or touch memory outside Memory and the launch's own blocks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "emu/finding.h"
#include "emu/footprint.h"
#include "emu/memory.h"
#include "ptx/module.h"

namespace kw::emu {

struct Options {
  bool check_races = false;          // shared and global
  bool check_uninitialised = false;  // reads of shared, global and local bytes never written
  bool count = false;                // Counters beyond instruction counts
  bool count_sites = false;          // with count: LaunchReport::sites
  int threads = 0;                   // 0: all cores
  uint64_t schedule_seed = 0;        // 0: round robin; others permute warps and blocks, and move clocks and %smid
  enum class Completion : uint8_t { kEager, kLate } async_completion = Completion::kEager;
  uint64_t max_warp_instructions = 0;  // per block; 0: 2^40
  double deadline_s = 0;             // wall time of the launch; 0: none
  uint64_t max_findings = 20;        // distinct ones kept
  // Linear indices of the blocks that run, the others of the grid do not; empty: all. Counters are of those that ran. Whoever waits for
  // a block that is left out is in a deadlock.
  std::span<const uint64_t> blocks;
  // With check_races: where to note what the launch touches (none: nowhere), and what ran that has no order with it.
  Footprint* footprint = nullptr;
  std::span<const Concurrent> concurrent;
  bool checked() const { return check_races || check_uninitialised; }
};

struct LaunchReport {
  // False: a fatal finding stopped it. Then the report holds the findings of the stopping block and of those before it
  // in the order of execution, and nothing that depends on how far others had come; results in Memory may.
  bool completed = false;
  std::vector<Finding> findings;
  Counters counters;                 // instruction counts always, the rest with Options::count; zero when stopped
  std::vector<SiteCounters> sites;   // with Options::count_sites: each PTX instruction that was executed, in order
  std::string output;                // of vprintf, in block order
  uint64_t warp_instructions = 0;
};

// Static facts of a kernel.
struct KernelInfo {
  std::string name;
  uint32_t param_bytes = 0;
  struct Param { std::string name; uint32_t offset = 0, bytes = 0, align = 0; };
  std::vector<Param> params;
  uint32_t static_shared_bytes = 0;
  uint32_t local_bytes = 0;                      // per thread
  uint32_t max_threads = 0;                      // from .maxntid/.reqntid; 0 = not stated
  std::array<uint32_t, 3> required_cluster{};
  bool order_sensitive = false;                  // blocks communicate through global memory (see above)
  uint32_t register_slots = 0, register_bytes_per_warp = 0;   // after slot allocation
};

class Program {
 public:
  // Allocates and initialises the module's .global and .const variables in `memory`, which must outlive
  // the program. Kernels are lowered on first use.
  static Result<std::unique_ptr<Program>> load(std::shared_ptr<const ptx::Module> module, Memory& memory);
  ~Program();
  Program(const Program&) = delete;

  std::vector<std::string> kernel_names() const;
  Result<KernelInfo> kernel(std::string_view name) const;
  struct Symbol { uint64_t address = 0, bytes = 0; bool constant = false; };
  Result<Symbol> symbol(std::string_view name) const;
  const ptx::Module& module() const;
  Memory& memory() const;
  // Puts the module's variables back to their initial values.
  Status reset_variables();

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  Program() = default;
  std::unique_ptr<Impl> impl_;
};

struct Launch {
  const Program* program = nullptr;
  std::string kernel;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  std::vector<uint8_t> params;       // the parameter block, laid out as KernelInfo::params says
  bool cooperative = false;
};

// Errors: unknown kernel, a launch outside the limits of the module's target, unsupported instructions.
// What the kernel does wrong while running is in the report.
Result<LaunchReport> run(const Launch& launch, const Options& options);

}  // namespace kw::emu
