#include "profile/conflicts.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/tools.h"

namespace kw::profile {
namespace {

constexpr double kLeastShare = 0.05;

// Of their peaks, the resource that the estimate names, where a counter tells; DRAM and L2 themselves, the SMs for the rest.
std::optional<double> reached(const HardwareCounters& h, Time::Resource resource) {
  switch (resource) {
    case Time::kDram: return h[Counter::kDramShare];
    case Time::kL2: return h[Counter::kL2Share];
    case Time::kTensor: return h[Counter::kTensor];
    case Time::kIssue: return h[Counter::kIssue];
    case Time::kFp32:
    case Time::kFp64:
    case Time::kInteger:
    case Time::kConversion:
    case Time::kSpecial: return h[Counter::kComputeShare];
    case Time::kLsu: return h[Counter::kMemoryShare];
    case Time::kStarts:
    case Time::kAtomics:
    case Time::kLatency:
    case Time::kResources: return std::nullopt;
  }
  return std::nullopt;
}

// Of the whole call. Gains by an estimate that is so far off say little.
std::string of_time(const Subject& subject) {
  constexpr double kFar = 2;
  if (!subject.measured || subject.seconds <= 0) return "";
  const double measured = subject.measured->seconds, times = subject.seconds / measured;
  if (measured <= 0 || (times < kFar && times > 1 / kFar)) return "";
  return fmt::format("the estimate is {:.2g} times the measured time, so gains that follow from it are doubtful", times);
}

std::string of_bound(const Kernel& kernel) {
  const HardwareCounters& h = *kernel.hardware;
  const Time::Resource bound = kernel.time.bound();
  const auto share = reached(h, bound);
  if (share && *share < 0.3) return fmt::format("the estimate says that {} takes the time, which the GPU shows at {:.0f} % of its peak", name_of(bound), 100 * *share);
  const double most = std::max({h.of(Counter::kDramShare), h.of(Counter::kL2Share), h.of(Counter::kIssue), h.of(Counter::kTensor)});
  if (bound == Time::kLatency && most >= 0.8) return fmt::format("the estimate says that warps wait, but the GPU shows a resource at {:.0f} % of its peak", 100 * most);
  return "";
}

std::string of_traffic(const Kernel& kernel) {
  const HardwareCounters& h = *kernel.hardware;
  if (!h[Counter::kDramRead] || !h[Counter::kDramWritten]) return "";
  const double moved = h.of(Counter::kDramRead) + h.of(Counter::kDramWritten), foretold = kernel.work.dram_bytes;
  if (std::max(moved, foretold) < 1e6 || (moved < 1.5 * foretold && foretold < 1.5 * moved)) return "";
  return fmt::format("DRAM moves {:.1f} MB, {:.1f} MB by estimate{}", moved * 1e-6, foretold * 1e-6, moved < foretold ? ": what is written may still lie in L2" : "");
}

// Both count the same accesses: the emulator those of the PTX, the GPU those that ptxas made of them.
std::string of_requests(const Kernel& kernel) {
  const HardwareCounters& h = *kernel.hardware;
  const Totals& t = kernel.totals;
  if (h.of(Counter::kLoadRequests) <= 0 || t.load_requests <= 0 || t.copied_bytes > 0) return "";
  const double gpu = h.of(Counter::kLoadSectors) / h.of(Counter::kLoadRequests), emulator = t.load_sectors / t.load_requests;
  if (gpu < 1.25 * emulator && emulator < 1.25 * gpu) return "";
  return fmt::format("a load request takes {:.1f} sectors on the GPU and {:.1f} on the emulator", gpu, emulator);
}

std::string of_barriers(const Kernel& kernel) {
  if (kernel.hardware->stalls.empty()) return "";
  const double waiting = kernel.hardware->stall_share("barrier"), often = share_of(kernel.totals.warps[emu::Counters::kBarrier], kernel.totals.instructions);
  if (often >= 0.05 && waiting < 0.1) return fmt::format("one instruction in {:.0f} is a barrier, but warps wait there {:.0f} % of their time only", 1 / often, 100 * waiting);
  return "";
}

}  // namespace

std::vector<std::string> conflicts(const Subject& subject) {
  std::vector<std::string> out;
  if (std::string words = of_time(subject); !words.empty()) out.push_back(std::move(words));
  for (const Kernel& kernel : subject.kernels) {
    if (!kernel.hardware || !kernel.counted || measured_share(subject, kernel) < kLeastShare) continue;
    for (const auto& look : {of_bound, of_traffic, of_requests, of_barriers}) {
      const std::string words = look(kernel);
      if (!words.empty()) out.push_back(fmt::format("{}{}", subject.kernels.size() > 1 ? kernel.name + ": " : "", words));
    }
  }
  return out;
}

}  // namespace kw::profile
