// Tools about what the GPU's own counters show, where ncu has read them: silent without.
#include <fmt/format.h>

#include <algorithm>

#include "profile/tools.h"

namespace kw::profile {
namespace {

using C = emu::Counters;

// Of DRAM's peak. Streams reach 0.85 (copies) to 0.94 (reads), those of 20 µs 0.8: start and end count.
constexpr double kSaturated = 0.75, kStreams = 0.9;
constexpr double kFull = 0.95;            // what else is busiest, at its practical peak
constexpr double kIssuing = 0.7;          // of the issue slots: warps do not wait for much
constexpr double kBusyMemory = 0.6;       // loads come late because there are many: no more of them are wanted on their way
constexpr double kShort_s = 5e-6;         // of launches below it the start is most: instructions and constants come from DRAM

// What a warp waits for, and what helps.
struct Remedy {
  std::string_view reason, try_this;
  bool (*at)(const Site&);   // instructions that it is about; null: those that execute most
};

bool loads_far(const Site& site) { return site.is_load() && (site.is_global() || site.space == ptx::Space::kLocal); }
bool touches_far(const Site& site) { return site.is_global() || site.space == ptx::Space::kLocal; }
bool touches_shared(const Site& site) { return site.wavefronts > 0; }
bool touches_shared_or_special(const Site& site) { return touches_shared(site) || site.instruction_class == C::kSpecialFunction; }
bool stores_far(const Site& site) { return site.instruction_class == C::kStore && site.is_global(); }
bool branches(const Site& site) { return site.instruction_class == C::kControl; }
bool multiplies(const Site& site) { return site.instruction_class == C::kTensor; }

constexpr Remedy kRemedies[] = {
    {"long_scoreboard", "have more on its way before it is needed: issue the loads of several iterations first (unroll, independent accumulators), 16 bytes a thread, "
                        "copy the next tile with cp.async while this one is used; or more warps an SM to work meanwhile", loads_far},
    {"lg_throttle", "issue fewer and wider global and local accesses: 16 bytes a thread, arrays in registers, shared memory for what is read again", touches_far},
    {"short_scoreboard", "load operands from shared memory one step ahead of their use and in 16-byte pieces (ldmatrix for tensor cores), without bank conflicts; "
                         "call fewer special functions", touches_shared_or_special},
    {"mio_throttle", "issue fewer shared-memory and special-function instructions: 16 bytes an access, more outputs a thread from operands in registers, shuffles in place of exchanges",
     touches_shared_or_special},
    {"math_pipe_throttle", "one arithmetic pipe has all the work: move matrix products to tensor cores, use fused multiply-adds and packed halves, mix kinds of instructions", nullptr},
    {"wait", "put independent instructions between those that depend on each other: several accumulators, unrolled loops, two elements a thread", nullptr},
    {"no_instruction", "let the code that runs fit the instruction cache: unroll less, shorten what blocks execute once, give each block more to do", nullptr},
    {"branch_resolving", "branch less: unroll short loops, use selects for short alternatives", branches},
    {"imc_miss", "read constants with an index that all lanes share, and soon again; tables belong into shared memory", nullptr},
    {"drain", "store less at the very end: wider stores, spread over the work; or more work a block", stores_far},
    {"membar", "fence less often and no wider than needed: __threadfence_block() in place of __threadfence()", nullptr},
    {"tex_throttle", "fetch less through the texture path: plain global loads, shared memory", touches_far},
    {"gmma", "let more wgmma groups be on their way: wait for all but the newest, two warpgroups that take turns", multiplies},
};

// Of long_scoreboard, where the memory system is busy.
constexpr std::string_view kFewerRequests = "loads come late because the memory system is busy, so more of them on their way gains little: fewer and wider requests (16 bytes a thread), "
                                            "and from shared memory or registers what is read again";

const Site* busiest(const Kernel& kernel, bool (*at)(const Site&)) {
  const Site* most = nullptr;
  for (const Site& site : kernel.sites)
    if ((at == nullptr || at(site)) && (most == nullptr || site.warps > most->warps)) most = &site;
  return most;
}

// Trigger: one reason takes two fifths of the warps' time or more, while issue slots stay free, DRAM is not saturated and launches are not
// so short that it is their start (barriers have their own tool; a warp that is not selected waits for nothing that is scarce).
// Gain: half of those waits, as far as the busiest resource has room.
std::optional<Advice> warp_stalls(const Subject& subject, const Kernel& kernel) {
  constexpr double kMuch = 0.4;
  if (!kernel.hardware || kernel.hardware->stalls.empty()) return std::nullopt;
  const HardwareCounters& h = *kernel.hardware;
  if (h.of(Counter::kIssue) > kIssuing || h.of(Counter::kDramShare) >= kSaturated) return std::nullopt;
  if (h[Counter::kSeconds] && h.of(Counter::kSeconds) < kShort_s * static_cast<double>(h.launches)) return std::nullopt;
  const auto most = std::max_element(h.stalls.begin(), h.stalls.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const double share = h.stall_share(most->first);
  const auto remedy = std::find_if(std::begin(kRemedies), std::end(kRemedies), [&](const Remedy& each) { return each.reason == most->first; });
  if (share < kMuch || remedy == std::end(kRemedies)) return std::nullopt;
  const auto reasons = stall_reasons();
  const auto reason = std::find_if(reasons.begin(), reasons.end(), [&](const StallReason& each) { return each.name == most->first; });
  const Site* site = busiest(kernel, remedy->at);
  Advice advice = site == nullptr ? advice_at_launch(kernel) : advice_at(subject, site->party);
  advice.saw = fmt::format("of {:.1f} clocks between two instructions a warp spends {:.0f} % waiting for {} ({}); {:.1f} warps are ready a clock, and {:.0f} % of the issue slots are used",
                           h.warp_latency(), 100 * share, reason->meaning, reason->name, h.of(Counter::kEligible), 100 * h.of(Counter::kIssue));
  const bool busy_memory = remedy->reason == "long_scoreboard" && h.memory_share() >= kBusyMemory;
  if (busy_memory) advice.saw += fmt::format("; the memory system works at {:.0f} % of its peak", 100 * h.memory_share());
  advice.try_this = busy_memory ? kFewerRequests : remedy->try_this;
  advice.gain = gain_of(subject, kernel, without_stall(h, share / 2));
  return advice;
}

// Trigger: seven tenths of the issue slots are used in a problem that computes little, and DRAM is not saturated: instructions take the time.
// Gain: a quarter of them fewer, as far as the memory system has room.
std::optional<Advice> issue_slots(const Subject& subject, const Kernel& kernel) {
  constexpr size_t kNamed = 3;
  if (!kernel.hardware || kernel.hardware->of(Counter::kIssue) < kIssuing || kernel.hardware->of(Counter::kDramShare) >= kSaturated) return std::nullopt;
  const HardwareCounters& h = *kernel.hardware;
  const Site* site = busiest(kernel, nullptr);
  Advice advice = site == nullptr ? advice_at_launch(kernel) : advice_at(subject, site->party);
  advice.saw = fmt::format("{:.0f} % of the issue slots are used, DRAM works at {:.0f} % of its peak: instructions take the time", 100 * h.of(Counter::kIssue), 100 * h.of(Counter::kDramShare));
  std::vector<std::pair<double, C::Class>> kinds;
  for (int i = 0; i < C::kClasses; ++i) kinds.emplace_back(kernel.totals.warps[static_cast<size_t>(i)], static_cast<C::Class>(i));
  std::stable_sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> most;
  for (size_t i = 0; i < kNamed && kinds[i].first > 0; ++i) most.push_back(fmt::format("{} {:.0f} %", name_of(kinds[i].second), 100 * kinds[i].first / kernel.totals.instructions));
  if (!most.empty()) advice.saw += fmt::format("; most of them are {}", fmt::join(most, ", "));
  advice.try_this = "fewer instructions an element: 16 bytes an access, packed halves (half2) without conversions back and forth, multiply-adds with constants folded in, "
                    "exp2 of scaled values for exp, indices computed once outside of loops";
  advice.gain = gain_of(subject, kernel, std::min(4.0 / 3, kFull / std::max(h.memory_share(), 0.01)));
  return advice;
}

// Trigger: DRAM works at three quarters of its peak, and moves a fifth more than the kernel's buffers hold of what it touches; or, of
// several kernels, all together a fifth more than the problem's inputs and outputs. Gain: only those bytes.
std::optional<Advice> dram_saturation(const Subject& subject, const Kernel& kernel) {
  constexpr double kMore = 1.2;
  if (!kernel.hardware || kernel.hardware->of(Counter::kDramShare) < kSaturated) return std::nullopt;
  const auto moved_by = [](const Kernel& each) { return each.hardware ? each.hardware->of(Counter::kDramRead) + each.hardware->of(Counter::kDramWritten) : 0; };
  const double moved = moved_by(kernel), needed = kernel.work.dram_bytes;
  if (moved <= 0 || needed <= 0) return std::nullopt;
  Advice advice = advice_at_launch(kernel);
  const std::string busy = fmt::format("DRAM works at {:.0f} % of its peak", 100 * kernel.hardware->of(Counter::kDramShare));
  if (moved >= kMore * needed) {
    advice.saw = fmt::format("{} and moves {:.2f} GB for {:.2f} GB of buffers that the kernel touches: bytes come {:.1f} times", busy, moved * 1e-9, needed * 1e-9, moved / needed);
    advice.try_this = "let blocks that read the same data run close together (order blocks in small squares, not in long rows), so that L2 still has it; larger tiles; "
                      "keep in shared memory or registers what is read again";
    advice.gain = gain_of(subject, kernel, moved / needed);
    return advice;
  }
  double all = 0;
  for (const Kernel& each : subject.kernels) all += moved_by(each);
  const double must = subject.cost.input_bytes + subject.cost.output_bytes;
  if (subject.kernels.size() < 2 || must <= 0 || all < kMore * must) return std::nullopt;
  advice.saw = fmt::format("{}; the kernels together move {:.2f} GB where inputs and outputs have {:.2f} GB", busy, all * 1e-9, must * 1e-9);
  advice.try_this = "fuse this kernel with the one before or after it, so that what is between them never leaves the SM; where it must, store it in a narrower type";
  advice.gain = gain_of(subject, kernel, std::min(all / must, moved / std::max(1.0, moved - (all - must))));
  return advice;
}

}  // namespace

double measured_share(const Subject& subject, const Kernel& kernel) {
  double all = 0;
  for (const Kernel& each : subject.kernels) {
    if (!each.hardware || each.hardware->launches < each.launched.launches || !(*each.hardware)[Counter::kSeconds]) return kernel.share;
    all += each.hardware->of(Counter::kSeconds);
  }
  return share_of(kernel.hardware->of(Counter::kSeconds), all);
}

double gain_of(const Subject& subject, const Kernel& kernel, double times) {
  return times <= 1 ? 1 : 1 / (1 - measured_share(subject, kernel) * (1 - 1 / times));
}

// Warps issue in turn: of the clocks between two instructions of a warp so many go. Nothing gets faster than what is busiest at its peak.
double without_stall(const HardwareCounters& h, double share) {
  const double busiest_share = std::max({h.of(Counter::kIssue), h.memory_share(), h.of(Counter::kComputeShare), 0.01});
  return std::max(1.0, std::min({1 / (1 - std::min(share, 0.99)), kFull / busiest_share, kStreams / std::max(h.of(Counter::kDramShare), 0.01)}));
}

bool warps_suffice(const Kernel& kernel) { return kernel.hardware && kernel.hardware->of(Counter::kEligible) >= 2; }

double within_stalls(const Subject& subject, const Kernel& kernel, std::initializer_list<std::string_view> reasons, double gain) {
  if (!kernel.hardware || kernel.hardware->stalls.empty()) return gain;
  double share = 0;
  for (const std::string_view reason : reasons) share += kernel.hardware->stall_share(reason);
  return std::min(gain, gain_of(subject, kernel, without_stall(*kernel.hardware, share)));
}

std::vector<Tool> counter_tools() {
  return {
      {"warp_stalls", "one thing that warps wait for most of their time", kAll, warp_stalls},
      {"issue_slots", "issue slots full where memory should be the limit", kMemory | kLatency | kMixed, issue_slots},
      {"dram_saturation", "DRAM at its peak, moving more than it must", kAll, dram_saturation},
  };
}

}  // namespace kw::profile
