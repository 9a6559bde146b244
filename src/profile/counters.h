// What a GPU's own counters say of a kernel, as ncu reads them (ncu.h): each in one unit, whatever the tool printed. Values.
// Names of ncu's metrics: Nsight Compute's Profiling Guide, "Metrics Reference"; stall reasons: "Warp Stall Reasons" there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "arch/target.h"

namespace kw::profile {

enum class Counter : uint8_t {
  kSeconds, kDramRead, kDramWritten, kDramShare, kL2Share, kL2Hits, kL2Sectors, kL1Hits, kLoadSectors, kLoadRequests, kStoreSectors,
  kStoreRequests, kBankConflicts, kSharedWavefronts, kOccupancy, kIssue, kEligible, kInstructions, kTensor, kMemoryShare, kComputeShare,
};
inline constexpr size_t kCounterKinds = static_cast<size_t>(Counter::kComputeShare) + 1;

struct CounterKind {
  Counter counter;
  std::string_view ncu;     // "dram__bytes_read.sum"
  std::string_view name;    // "bytes read from DRAM"
  std::string_view unit;    // "B", "s", "" for plain numbers; shares are parts of 1
  bool adds = false;        // over launches; others are averaged, the longer launch counting more
  int from = 0, until = 1000;   // architectures that have it: from <= Target::number() < until
};
std::span<const CounterKind> counter_kinds();   // several of one counter, where architectures name it differently

// Why a warp that is resident does not issue, and for completeness the two ways in which it could: ncu's words.
struct StallReason {
  std::string_view name;    // "long_scoreboard"
  std::string_view meaning; // "data of a global, local or texture load that has not come"
  int from = 0, until = 1000;
};
std::span<const StallReason> stall_reasons();
std::string stall_metric(std::string_view reason);

// Of one launch, or of all those of a kernel that were looked at.
struct HardwareCounters {
  uint64_t launches = 0;
  std::array<std::optional<double>, kCounterKinds> values;
  std::map<std::string, double, std::less<>> stalls;   // by reason: warps in that state for every instruction issued

  std::optional<double> operator[](Counter counter) const { return values[static_cast<size_t>(counter)]; }
  double of(Counter counter) const { return (*this)[counter].value_or(0); }
  double memory_share() const;                         // of its peak: L1, L2 or DRAM, whichever is nearest to it
  double stall_share(std::string_view reason) const;   // of the time of resident warps; 0 where no reasons were read
  double warp_latency() const;                         // cycles of a warp between two of its instructions
  void add(const HardwareCounters& launch);
};

}  // namespace kw::profile
