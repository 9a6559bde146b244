// One block in flight: its warps, memory, barriers and turns. Internal to emu.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emu/run_warp.h"
#include "emu/site_counters.h"

namespace kw::emu {

// Everything a launch's blocks share. Immutable while they run.
struct LaunchPlan {
  const Launch* launch = nullptr;
  const Options* options = nullptr;
  const ProgramImage* program = nullptr;
  const KernelImage* kernel = nullptr;
  Memory* memory = nullptr;
  uint64_t param_base = 0;
  uint32_t param_bytes = 0;
  uint64_t grid_workspace = 0;       // cooperative launches: what %envreg1 and 2 hold; else 0
  uint32_t threads = 0, warps = 0;
  uint32_t shared_bytes = 0;         // static + dynamic
  uint32_t reserved_shared = 0;      // as BlockContext
  uint32_t shared_extent = 0;
  uint32_t sms = 108;                // of the target's reference part: residency, %nsmid
  uint32_t stack_bytes = 0;          // local memory per thread
  double deadline = 0;               // steady clock, seconds; 0 = none
};

struct BarrierState {
  uint32_t arrived = 0;              // threads
  uint32_t expected = 0;             // threads; 0: all that have not exited
  bool active = false;
  uint32_t popcount = 0;             // of barrier.red
  bool all = true, any = false;
  // Where the first thread waits at barrier 0 without a thread count: __syncthreads().
  const Insn* site = nullptr;
  uint32_t site_warp = 0;
  int site_lane = 0;
  std::vector<Mask> arrived_lanes;   // per warp
  std::vector<Mask> waiting_lanes;
};

class Block {
 public:
  // Memory for one block at a time; begin() may be called again after the block is over.
  Block(const LaunchPlan& plan, CountTable& counts, uint64_t* clock);
  void begin(uint64_t linear_index, Observer* observer);
  // Gives every warp one turn. True while there is more to do.
  bool step(uint64_t quantum);
  void end();
  // Of all that can run differently later: registers and places of the warps, and what the writes of the last step
  // found in memory (while watched).
  uint64_t state_hash() const;
  void watch(bool on);
  uint64_t progress() const { return progress_; }   // exits and barriers so far
  void report_deadlock(const char* how);
  void report_limit(std::string message);

  BlockContext& context() { return context_; }
  const LaunchPlan& plan() const { return plan_; }
  uint64_t clock() const;            // of the warp whose turn it is
  void sleep(uint32_t nanoseconds);  // the warp whose turn it is

  // For the run loop and terminators.cc.
  CodeCounts* counts_for(const Code& code);
  void arrive(WarpState& state, const Insn& insn, Mask lanes);       // a barrier instruction; see ops_control.h
  void lanes_exited(WarpState& state);
  bool call_system(WarpState& state, const Insn& insn, const CallSite& site, Mask lanes);   // syscalls.cc
  WarpState* current() const { return current_; }

 private:
  void complete(uint32_t id);
  void compare_sites(BarrierState& barrier, Warp& warp, const Insn& insn, int lane);
  uint32_t live_threads() const;

  const LaunchPlan& plan_;
  CountTable& counts_;
  uint64_t* clock_;
  BlockContext context_;
  std::vector<std::unique_ptr<WarpState>> warps_;
  std::vector<uint32_t> order_;      // of turns
  Bytes banks_, shared_, local_;
  std::array<BarrierState, 16> barriers_;
  WarpState* current_ = nullptr;
  uint64_t progress_ = 0;
  uint64_t generation_ = 0;          // of the allocations that context_.ranges knows
};

}  // namespace kw::emu
