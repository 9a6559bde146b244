// Tools about who works when: blocks and waves, launches, pipelines, barriers, balance, contention.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profile/tools.h"

namespace kw::profile {
namespace {

using C = emu::Counters;

double of(uint64_t n) { return static_cast<double>(n); }
double sms_of(const Subject& subject) { return std::max(1, subject.target->part.sm_count); }

// Trigger: fewer blocks than SMs in the largest launch. Gain: the same work over all SMs.
std::optional<Advice> few_blocks(const Subject& subject, const Kernel& kernel) {
  const double blocks = of(kernel.launched.largest_blocks), sms = sms_of(subject);
  if (blocks >= sms) return std::nullopt;
  Advice advice = advice_at_launch(kernel);
  advice.saw = fmt::format("{:.0f} blocks for {:.0f} SMs: {:.0f} % of the GPU has nothing to do", blocks, sms, 100 * (1 - blocks / sms));
  advice.try_this = "give a block less: smaller tiles, or split the summation over several blocks and add their parts (split-K, a second pass or atomics)";
  Work work = kernel.work;   // as many blocks as SMs, each with less
  const double factor = sms / blocks;
  work.blocks *= factor;
  work.load_waits /= factor;
  work.shared_loads /= factor;
  work.barriers /= factor;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// Trigger: between one and five waves of blocks, of which the last is so empty that a sixth of the time goes to waste.
// Gain: the same work in full waves.
std::optional<Advice> wave_tail(const Subject& subject, const Kernel& kernel) {
  const double slots = sms_of(subject) * std::max(1, kernel.occupancy.blocks_per_sm), waves = of(kernel.launched.largest_blocks) / slots;
  if (waves <= 1 || waves > 5 || kernel.occupancy.blocks_per_sm == 0) return std::nullopt;
  const double whole = std::ceil(waves);
  if (whole / waves < 1.2) return std::nullopt;
  Advice advice = advice_at_launch(kernel);
  advice.saw = fmt::format("{} blocks are {:.2f} waves of {:.0f}: the last one leaves {:.0f} % of the places empty", kernel.launched.largest_blocks, waves, slots,
                           100 * (whole - waves));
  advice.try_this = fmt::format("choose tiles that make a multiple of {:.0f} blocks or just below one, smaller tiles, or a grid of {:.0f} blocks that fetch their work (persistent)",
                                slots, slots);
  Work work = kernel.work;
  const double even = std::floor(waves) * slots;   // the work of all in so many blocks
  const double factor = of(kernel.launched.largest_blocks) / even;
  work.blocks = even * of(kernel.launched.launches);
  for (double* each : {&work.load_waits, &work.shared_loads, &work.barriers}) *each *= factor;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// The same by the kernel activity trace: gaps between steps, none of which host code makes. Gain: without them.
std::optional<Advice> measured_gaps(const Subject& subject, const Timeline& timeline) {
  const double gaps = timeline.gaps();
  if (timeline.steps.size() < 2 || gaps < 0.2 * timeline.seconds) return std::nullopt;
  Advice advice = advice_at_launch(subject.kernels.front());
  advice.saw = fmt::format("the trace shows {} steps with {:.1f} µs between them in which nothing runs, {:.0f} % of {:.1f} µs", timeline.steps.size(), gaps * 1e6,
                           100 * gaps / timeline.seconds, timeline.seconds * 1e6);
  advice.try_this = "fuse kernels that follow each other, move the loop into the kernel, or let one grid do all of the equal launches (blockIdx.y or z); "
                    "where steps must stay apart, let the next one start early (programmatic dependent launch)";
  advice.gain = timeline.seconds / timeline.busy;
  return advice;
}

// Trigger: four launches or more, whose start takes a fifth of the time; measured, two steps or more and gaps of a fifth. Gain: one launch.
std::optional<Advice> launch_overhead(const Subject& subject, const Roofline&) {
  if (subject.measured && subject.measured->timeline) return measured_gaps(subject, *subject.measured->timeline);
  const double steps = of(subject.launches + subject.other_steps), overhead = steps * kLaunchSeconds;
  if (steps < 4 || overhead < 0.2 * subject.seconds) return std::nullopt;
  Advice advice = advice_at_launch(subject.kernels.front());
  advice.saw = fmt::format("{:.0f} launches, fills and copies cost {:.1f} µs to start, {:.0f} % of the time", steps, overhead * 1e6, 100 * overhead / subject.seconds);
  advice.try_this = "fuse kernels that follow each other, move the loop into the kernel, or let one grid do all of the equal launches (blockIdx.y or z)";
  advice.gain = subject.gain_without(overhead - kLaunchSeconds);
  return advice;
}

struct Staging {
  double loaded = 0, stored = 0;    // bytes: from global memory into registers, and from there into shared memory
  double waits = 0, deep = 0;       // copies: waits of warps for all groups, for all but some
  const Site* load = nullptr;
  const Site* wait = nullptr;
};

Staging staging(const Kernel& kernel) {
  Staging out;
  for (const Site& site : kernel.sites) {
    const std::string& text = site.party.instruction;
    if (site.is_load() && site.is_global()) {
      out.loaded += site.bytes;
      if (out.load == nullptr || site.bytes > out.load->bytes) out.load = &site;
    }
    if (site.instruction_class == C::kStore && site.space == ptx::Space::kShared) out.stored += site.bytes;
    if (text.find("cp.async.wait_") == std::string::npos) continue;
    const bool all = text.find("wait_all") != std::string::npos || text.find("wait_group 0") != std::string::npos || text.find("wait_group \t0") != std::string::npos;
    (all ? out.waits : out.deep) += site.warps;
    if (all && (out.wait == nullptr || site.warps > out.wait->warps)) out.wait = &site;
  }
  return out;
}

// Rounds of a loop that hands a tile over: barriers of a block, two a round.
double barriers_per_block(const Kernel& kernel) { return kernel.totals.warps[C::kBarrier] / std::max(1.0, kernel.warps()); }

// Trigger: a loop with barriers that moves tiles from global to shared memory through registers, on a target with cp.async.
// Gain: the loads' latency is hidden behind the computation but for a quarter.
std::optional<Advice> async_copy(const Subject& subject, const Kernel& kernel) {
  if (!kernel.counted || !subject.target->has(arch::Feature::kCpAsync) || kernel.totals.copied_bytes > 0) return std::nullopt;
  const Staging s = staging(kernel);
  if (s.load == nullptr || s.stored < 0.5 * s.loaded || barriers_per_block(kernel) < 4) return std::nullopt;
  Advice advice = advice_at(subject, s.load->party);
  advice.saw = fmt::format("tiles go from global to shared memory through registers, and the block waits for them {:.0f} times", barriers_per_block(kernel) / 2);
  advice.try_this = "copy with cp.async in 16-byte pieces into two to four buffers, so that the next tile arrives while this one is used";
  Work work = kernel.work;
  work.load_waits /= 4;
  work.instructions[C::kLoad] = std::max(0.0, work.instructions[C::kLoad] - s.load->warps);
  advice.gain = within_stalls(subject, kernel, {"long_scoreboard", "barrier"}, subject.gain(kernel, work));
  return advice;
}

// Trigger: asynchronous copies of which the loop awaits every one before it goes on. Gain: waits half as often.
std::optional<Advice> shallow_pipeline(const Subject& subject, const Kernel& kernel) {
  const Staging s = staging(kernel);
  if (kernel.totals.copied_bytes == 0 || s.wait == nullptr) return std::nullopt;
  const double per_warp = s.waits / std::max(1.0, kernel.warps());
  if (per_warp < 2 || s.waits < 2 * s.deep) return std::nullopt;
  Advice advice = advice_at(subject, s.wait->party);
  advice.saw = fmt::format("each warp waits {:.0f} times for all of its asynchronous copies: none is on its way while a tile is used", per_warp);
  advice.try_this = "issue the copies of the next tiles first and wait with cp.async.wait_group N for all but the newest N groups (N = stages - 2 or more)";
  Work work = kernel.work;
  work.load_waits /= 3;
  advice.gain = within_stalls(subject, kernel, {"long_scoreboard", "barrier"}, subject.gain(kernel, work));
  return advice;
}

// Trigger: a warp waits for global loads most of its time, and has fewer than two on their way. Gain: four at once.
std::optional<Advice> loads_in_flight(const Subject& subject, const Kernel& kernel) {
  if (!kernel.counted || !kernel.sass || kernel.sass->loads_in_flight == 0 || kernel.sass->loads_in_flight >= 2) return std::nullopt;
  const auto& seconds = kernel.time.seconds;
  if (kernel.work.load_waits < 8 || seconds[Time::kLatency] < 0.7 * seconds[kernel.time.bound()]) return std::nullopt;
  const Site* most = nullptr;
  for (const Site& site : kernel.sites) {
    if (site.instruction_class == C::kLoad && site.space != ptx::Space::kShared && site.requests > 0 && (most == nullptr || site.requests > most->requests)) most = &site;
  }
  if (most == nullptr) return std::nullopt;
  Advice advice = advice_at(subject, most->party);
  advice.saw = fmt::format("a warp waits {:.0f} times for global loads and has {:.1f} on their way at a time", kernel.work.load_waits, kernel.sass->loads_in_flight);
  advice.try_this = "unroll the loop by four and issue the loads first (#pragma unroll 4, independent accumulators), or move 16 bytes a load";
  Work work = kernel.work;
  work.load_waits *= kernel.sass->loads_in_flight / 4;
  advice.gain = within_stalls(subject, kernel, {"long_scoreboard"}, subject.gain(kernel, work));
  return advice;
}

// Trigger: one instruction in twenty is a barrier; where the GPU's counters were read, warps spend three tenths of their time at
// them, whatever their number. Gain: half of them; half of that time.
std::optional<Advice> barriers(const Subject& subject, const Kernel& kernel) {
  const double all = kernel.totals.warps[C::kBarrier];
  const bool measured = kernel.hardware && !kernel.hardware->stalls.empty();
  const double waiting = measured ? kernel.hardware->stall_share("barrier") : 0;
  if (measured ? waiting < 0.3 || all <= 0 : all < 0.05 * kernel.totals.instructions) return std::nullopt;
  const Site* most = nullptr;
  for (const Site& site : kernel.sites) {
    if (site.instruction_class == C::kBarrier && (most == nullptr || site.warps > most->warps)) most = &site;
  }
  if (most == nullptr) return std::nullopt;
  Advice advice = advice_at(subject, most->party);
  advice.saw = fmt::format("one instruction in {:.0f} is a barrier: {:.0f} a block", kernel.totals.instructions / all, barriers_per_block(kernel));
  if (measured) advice.saw = fmt::format("warps spend {:.0f} % of their time waiting for others at barriers; {}", 100 * waiting, advice.saw);
  advice.try_this = "exchange within a warp by __shfl_sync or __reduce_sync instead of shared memory, do more between two barriers, alternate two buffers to save one of each pair";
  if (measured && all < 0.05 * kernel.totals.instructions) advice.try_this += "; they are few, so warps arrive apart: give all the same to do between two, or smaller blocks, more of them an SM";
  Work work = kernel.work;
  work.barriers /= 2;
  work.instructions[C::kBarrier] /= 2;
  advice.gain = measured ? gain_of(subject, kernel, without_stall(*kernel.hardware, waiting / 2)) : subject.gain(kernel, work);
  return advice;
}

// Trigger: the busiest block, or the busiest warp of the blocks, does half as much again as the average. Gain: equal shares.
std::optional<Advice> imbalance(const Subject& subject, const Kernel& kernel) {
  const double blocks = kernel.work.block_imbalance, warps = kernel.work.warp_imbalance;
  if (!kernel.counted || (blocks < 1.5 && warps < 1.5)) return std::nullopt;
  Advice advice = advice_at_launch(kernel);
  advice.saw = blocks >= warps ? fmt::format("the busiest block executes {:.1f} times as many instructions as the average one", blocks)
                               : fmt::format("the busiest warp of a block executes {:.1f} times as many instructions as the average one", warps);
  advice.try_this = blocks >= warps ? "cut the work into equal parts, start the long ones first, or let blocks fetch their next part from a counter"
                                    : "spread what one warp does alone over the block";
  Work work = kernel.work;
  work.block_imbalance = work.warp_imbalance = work.load_imbalance = 1;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// Trigger: atomics whose lanes name one address more than four at a time, or of which each address gets 256 or more.
// Gain: one update a block and address.
std::optional<Advice> atomics(const Subject& subject, const Kernel& kernel) {
  const Site* worst = nullptr;
  double per_address = 0, per_request = 0;
  for (const Site& site : kernel.sites) {
    if (site.instruction_class != C::kAtomic || site.requests == 0 || site.addresses == 0) continue;
    const double all = site.threads / site.addresses, together = site.address_passes / site.requests;
    if (worst != nullptr && all < per_address) continue;
    worst = &site;
    per_address = all;
    per_request = together;
  }
  if (worst == nullptr || (per_request < 4 && (per_address < 256 || worst->space == ptx::Space::kShared))) return std::nullopt;
  Advice advice = advice_at(subject, worst->party);
  advice.saw = fmt::format("atomics update each of {} addresses about {:.0f} times, {:.1f} of a warp's lanes the same one", worst->addresses, per_address, per_request);
  advice.try_this = "add up first: in the warp (__shfl_xor_sync, __reduce_add_sync), then in shared memory, then once a block";
  Work work = kernel.work;
  work.atomic_updates = std::min(work.atomic_updates, work.blocks * worst->addresses);
  work.shared_passes = std::max(0.0, work.shared_passes - (worst->space == ptx::Space::kShared ? worst->address_passes - worst->requests : 0));
  advice.gain = subject.gain(kernel, work);
  return advice;
}

}  // namespace

std::vector<Tool> parallelism_tools() {
  return {
      {"few_blocks", "fewer blocks than SMs", kAll, few_blocks},
      {"wave_tail", "a last wave of blocks that is nearly empty", kAll, wave_tail},
      {"launch_overhead", "many small launches", kAll, nullptr, launch_overhead},
      {"async_copy", "tiles copied through registers while all wait", kAll, async_copy},
      {"shallow_pipeline", "asynchronous copies that are awaited at once", kAll, shallow_pipeline},
      {"loads_in_flight", "loads one after another", kAll, loads_in_flight},
      {"barriers", "barriers with little work between them", kAll, barriers},
      {"imbalance", "blocks or warps with more to do than others", kAll, imbalance},
      {"atomics", "many updates of few addresses", kAll, atomics},
  };
}

}  // namespace kw::profile
