// Device: executes plans. The seam between everything that judges, profiles or tunes and what runs the code.
// The PTX emulator (make_emulator), an NVIDIA GPU (make_gpu), or either in a process of its own (device_process.h). Nothing
// above asks which one it has, only what it can do.
//
//   auto device = device::make_emulator({});
//   KW_TRY(auto loaded, device->load(plan));           // modules, buffers, relocations
//   KW_TRY_VOID(loaded->write("x", bytes));            // inputs and inouts
//   KW_TRY(auto report, loaded->run(options));         // every step, in an order the plan allows
//   KW_TRY_VOID(loaded->read("y", bytes));             // outputs
//
// Errors are ours or the plan's (a checked plan, unsupported instructions, no memory). What the kernels do
// wrong is in the report. One LoadedPlan is used by one thread at a time; several may live at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/fingerprint.h"
#include "emu/emulator.h"
#include "emu/finding.h"
#include "plan/plan.h"

namespace kw::device {

struct Capabilities {
  std::string name;              // "PTX emulator"
  bool times = false;            // measured times mean something
  bool findings = false;         // checks for races, uninitialised reads, bounds
  bool counters = false;
  double dram_bytes_per_s = 0;   // by the device's own description; 0: not known
};

// What the device was like at one moment; what it does not say is 0 or empty.
struct Conditions {
  double sm_mhz = 0, memory_mhz = 0, power_w = 0, temperature_c = 0;
  std::vector<std::string> slowed_by;  // "power cap", "thermal", …: why clocks are below their highest
  int other_processes = 0;             // that use the device too
};

// What the device drew on average, by its counter of energy: from one update of the counter to another.
struct Power {
  double watts = 0;                    // 0: it has no counter, or fewer than two updates were seen
  double seconds = 0;                  // between the two
  int updates = 0;                     // after the first, up to the last
};

struct RunOptions {
  bool check_races = false;
  bool check_uninitialised = false;
  bool count = false;
  bool count_sites = false;            // with count: StepReport::sites
  int threads = 0;                     // 0: all cores
  // 0: issue order and round-robin warps. Others permute the order of independent steps, blocks and warps.
  uint64_t schedule_seed = 0;
  bool late_completion = false;        // asynchronous copies take effect as late as the program allows
  double deadline_s = 0;               // wall time for the whole plan; 0: none
  uint64_t max_warp_instructions = 0;  // per block; 0: the emulator's bound
  uint64_t max_findings = 20;
  // A call after another: module variables are as the last run left them.
  bool keep_variables = false;
  // With keep_variables and check_uninitialised: what earlier runs changed in them counts as uninitialised, so that
  // reading it is a finding, and a run without any does not depend on the earlier ones.
  bool forbid_stale_variables = false;
};

struct StepReport {
  uint32_t step = 0;                   // index into Plan::steps
  bool completed = false;
  std::vector<emu::Finding> findings;
  emu::Counters counters;
  uint64_t warp_instructions = 0;
  std::vector<emu::SiteCounters> sites;
};

struct RunReport {
  bool completed = false;              // every step ran to its end
  std::vector<StepReport> steps;       // launches, and others that race, in the order of Plan::steps
  emu::Counters total;
  std::string output;                  // what kernels printed, in step order
  double wall_s = 0;
  bool clean() const;                  // completed and no findings
  const StepReport* first_with_finding() const;   // null when clean
};

// A timed call is an ordinary call: its inputs are put in place anew, outputs and workspace are poison, module variables as at
// first. So that no two calls have the same contents, inputs whose elements may stand in any order are turned: element i of
// the call is element (i + turn) modulo their number of what was written.
struct CallOptions {
  std::vector<std::string> turned;     // which inputs
  uint64_t turn = 0;
  uint64_t layout_seed = 0;            // where buffers lie from this call on, a shift of up to 8 MiB; 0: where they are
  bool afresh = false;                 // first load the code and allocate the buffers anew, elsewhere: times depend on that as well
  bool cold = true;                    // nothing of the plan's is in the L2 cache; else it has run just before
  int repeats = 1;                     // one right after the other, between the two clocks' readings; of a plan without inouts
  uint64_t key = 0;                    // of the fingerprints
  bool trace = false;                  // of a cold call: its kernels' own times too; what is measured meanwhile may be a little longer
  bool power = false;                  // of calls one after the other: what the device draws meanwhile, its first tenth of a second left out
  double deadline_s = 0;               // as RunOptions::deadline_s
};
// What the kernel activity trace says of a step.
struct TracedStep {
  std::string kernel;                  // as the plan names it; empty: a copy, fill or write
  double begin_s = 0, end_s = 0;       // since the first step's start
};
struct CallReport {
  bool completed = false;
  double device_s = 0;                 // all repeats, between two events on the device; 0 where times mean nothing
  double host_s = 0;                   // the same by the host's clock, from the first launch to the end; 0 for cold calls
  double traced_s = 0;                 // by the kernel activity trace, from the first step's start to the last one's end; 0: no trace
  std::vector<TracedStep> traced;      // by the same, in the order of their starts
  Power power;                         // while they ran, when asked for
  std::string untraced;                // why a trace that was asked for is none
  std::vector<Fingerprint> outputs;    // of every buffer that is an output or inout, in the plan's order
  std::vector<emu::Finding> findings;  // as run()'s
};

class LoadedPlan {
 public:
  virtual ~LoadedPlan() = default;
  virtual const plan::Plan& plan() const = 0;
  // Whole-buffer access by the buffer's name; the size must be the buffer's.
  virtual Status write(std::string_view buffer, std::span<const uint8_t> bytes) = 0;
  virtual Status read(std::string_view buffer, std::span<uint8_t> bytes) const = 0;
  // The first byte of a buffer that nothing has written since reset(); none: all were, or the device cannot tell.
  virtual Result<std::optional<uint64_t>> first_unwritten(std::string_view buffer) const = 0;
  // Puts the device in the state of a first call: outputs and workspace poisoned with 0xff bytes (NaN in
  // every floating type, -1 in every integer) and marked uninitialised, module variables at their initial
  // values. Inputs stay, and so do the contents of inouts. run() does this first, but for RunOptions::keep_variables.
  virtual Status reset() = 0;
  virtual Result<RunReport> run(const RunOptions& options) = 0;
  // Every input and inout must have been written; runs afterwards find the written contents again.
  virtual Result<CallReport> call(const CallOptions& options) = 0;
};

struct LoadOptions {
  // Shifts where buffers lie (by multiples of 256 bytes), so that results, and times, that depend on addresses show.
  uint64_t layout_seed = 0;
  // Needed by RunOptions::check_uninitialised; costs an eighth of the memory in use.
  bool track_initialised = true;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual Capabilities capabilities() const = 0;
  // `plan` is checked again here.
  virtual Result<std::unique_ptr<LoadedPlan>> load(plan::Plan plan, const LoadOptions& options = {}) = 0;
  // The same device from a process of its own, where this one has one: what faults in it, or writes where it should not, is out
  // of reach of what runs here. Null: it is shared.
  virtual Result<std::shared_ptr<Device>> another() const { return std::shared_ptr<Device>(); }
  virtual Conditions conditions() { return {}; }
  // While nothing runs on it, for so many seconds: what it draws ready for work.
  virtual Power idle_power(double seconds) {
    (void)seconds;
    return {};
  }
};

inline constexpr char kEmulatorName[] = "PTX emulator";
struct EmulatorOptions {
  uint64_t memory_bytes = uint64_t{16} << 30;   // address space for device memory
};
std::unique_ptr<Device> make_emulator(const EmulatorOptions& options = {});

struct GpuInfo {
  std::string name;                    // "NVIDIA H200"
  std::string target;                  // "sm_90"
  int multiprocessors = 0;
  uint64_t memory_bytes = 0;
  std::string driver_version;          // the CUDA version that the driver is for: "13.0"
};
// Errors: kNotFound where there is no driver or no GPU, with what to do.
Result<std::vector<GpuInfo>> list_gpus();

// A GPU by its number among those that the driver shows. It checks less than the emulator: of what kernels do wrong only
// faults of the hardware, stores within 4 KiB beside a buffer and changed inputs are findings; of RunOptions it heeds
// schedule_seed and keep_variables. A launch that does not end blocks the caller for good, and after a fault the process
// can use the GPU no more: device_process.h is the way to run what is not trusted.
// Its errors: kUnsupported when the driver cannot compile the plan's PTX for this GPU, kLimit when memory is short.
Result<std::unique_ptr<Device>> make_gpu(int ordinal = 0);

}  // namespace kw::device
