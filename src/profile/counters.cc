#include "profile/counters.h"

#include <fmt/format.h>

#include <algorithm>

namespace kw::profile {
namespace {

bool adds(Counter counter) {
  const auto kinds = counter_kinds();
  return std::find_if(kinds.begin(), kinds.end(), [&](const CounterKind& kind) { return kind.counter == counter; })->adds;
}

}  // namespace

std::span<const CounterKind> counter_kinds() {
  using C = Counter;
  static constexpr CounterKind kKinds[] = {
      {C::kSeconds, "gpu__time_duration.sum", "duration, caches empty", "s", true},
      {C::kDramRead, "dram__bytes_read.sum", "bytes read from DRAM", "B", true},
      {C::kDramWritten, "dram__bytes_write.sum", "bytes written to DRAM", "B", true},
      {C::kDramShare, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "DRAM over its peak", ""},
      {C::kL2Share, "lts__throughput.avg.pct_of_peak_sustained_elapsed", "L2 over its peak", ""},
      {C::kL2Hits, "lts__t_sector_hit_rate.pct", "sectors found in L2", ""},
      {C::kL2Sectors, "lts__t_sectors_op_read.sum", "sectors read in L2, between its halves too", "", true},
      {C::kL1Hits, "l1tex__t_sector_hit_rate.pct", "sectors found in L1", ""},
      {C::kLoadSectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sectors of global loads", "", true},
      {C::kLoadRequests, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "requests of global loads", "", true},
      {C::kStoreSectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "sectors of global stores", "", true},
      {C::kStoreRequests, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "requests of global stores", "", true},
      {C::kBankConflicts, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "bank conflicts of shared memory", "", true},
      {C::kSharedWavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "wavefronts of shared memory and of stores", "", true},
      {C::kOccupancy, "sm__warps_active.avg.pct_of_peak_sustained_active", "occupancy achieved", ""},
      {C::kIssue, "smsp__issue_active.avg.per_cycle_active", "issue slots used", ""},
      {C::kEligible, "smsp__warps_eligible.avg.per_cycle_active", "warps ready to issue", ""},
      {C::kInstructions, "smsp__inst_executed.sum", "warp instructions executed", "", true},
      {C::kTensor, "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active", "tensor cores at work", "", false, 0, 80},
      {C::kTensor, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor cores at work", "", false, 80},
      {C::kMemoryShare, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "memory system over its peak", ""},
      {C::kComputeShare, "sm__throughput.avg.pct_of_peak_sustained_elapsed", "SMs over their peak", ""},
  };
  return kKinds;
}

std::span<const StallReason> stall_reasons() {
  static constexpr StallReason kReasons[] = {
      {"barrier", "other warps of the block, at a barrier"},
      {"branch_resolving", "the target of a branch"},
      {"dispatch_stall", "the dispatcher, which holds it back"},
      {"drain", "its last stores, to leave the SM"},
      {"gmma", "a warpgroup's matrix registers", 90, 100},
      {"imc_miss", "a constant that is not in the cache"},
      {"lg_throttle", "room in the queue of global and local accesses"},
      {"long_scoreboard", "data from global, local or texture memory"},
      {"math_pipe_throttle", "a free arithmetic pipe"},
      {"membar", "a memory barrier"},
      {"mio_throttle", "room in the queue of shared-memory and special instructions"},
      {"misc", "something ncu has no name for"},
      {"no_instruction", "an instruction to be fetched"},
      {"not_selected", "its turn: another warp was chosen"},
      {"selected", "nothing: it issues"},
      {"short_scoreboard", "data from shared memory or a special-function result"},
      {"sleeping", "the end of a sleep"},
      {"tex_throttle", "room in the queue of texture accesses"},
      {"wait", "the fixed latency of the instruction before"},
  };
  return kReasons;
}

std::string stall_metric(std::string_view reason) { return fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", reason); }

double HardwareCounters::memory_share() const { return std::max({of(Counter::kMemoryShare), of(Counter::kDramShare), of(Counter::kL2Share)}); }

double HardwareCounters::warp_latency() const {
  double sum = 0;
  for (const auto& [reason, warps] : stalls) sum += warps;
  return sum;
}

double HardwareCounters::stall_share(std::string_view reason) const {
  const auto at = stalls.find(reason);
  const double all = warp_latency();
  return at == stalls.end() || all <= 0 ? 0 : at->second / all;
}

void HardwareCounters::add(const HardwareCounters& launch) {
  if (launches++ == 0) {
    values = launch.values;
    stalls = launch.stalls;
    return;
  }
  const double before = of(Counter::kSeconds), more = launch.of(Counter::kSeconds);
  const double weight = before + more > 0 ? more / (before + more) : 1.0 / static_cast<double>(launches);
  const auto mean = [&](double a, double b) { return a + (b - a) * weight; };
  for (size_t i = 0; i < values.size(); ++i) {
    const auto counter = static_cast<Counter>(i);
    if (!values[i] || !launch[counter]) values[i].reset();   // of one launch it is not known: nor of all
    else values[i] = adds(counter) ? *values[i] + *launch[counter] : mean(*values[i], *launch[counter]);
  }
  for (auto& [reason, warps] : stalls) {
    const auto theirs = launch.stalls.find(reason);
    warps = mean(warps, theirs == launch.stalls.end() ? 0 : theirs->second);
  }
}

}  // namespace kw::profile
