#include <fmt/format.h>

#include <algorithm>

#include "profile/profile.h"
#include "profile/tools.h"

namespace kw::profile {
namespace {

double of(uint64_t n) { return static_cast<double>(n); }

class List {
 public:
  std::string kernel;
  void exact(std::string name, double value, std::string unit, std::string source) { add(std::move(name), value, std::move(unit), std::move(source), Grade::kExact); }
  void measured(std::string name, double value, std::string unit, std::string source) { add(std::move(name), value, std::move(unit), std::move(source), Grade::kMeasured); }
  void estimated(std::string name, double value, std::string unit, std::string source = "estimate") {
    add(std::move(name), value, std::move(unit), std::move(source), Grade::kEstimated);
  }
  void peak(std::string name, double value, std::string unit, bool measured) {
    add(std::move(name), value, std::move(unit), measured ? "calibration" : "specification", measured ? Grade::kMeasured : Grade::kExact);
  }
  std::vector<Metric> metrics;

 private:
  void add(std::string name, double value, std::string unit, std::string source, Grade grade) {
    metrics.push_back({std::move(name), value, std::move(unit), std::move(source), grade, kernel});
  }
};

void of_timeline(const Timeline& timeline, const std::string& device, List& list) {
  list.measured("steps in the trace", of(timeline.steps.size()), "", device);
  list.measured("time from the first step's start to the last one's end", timeline.seconds, "s", device);
  list.measured("launch gaps", timeline.gaps(), "s", device);
  list.measured("overlap", timeline.overlapped, "s", device);
}

void of_candidate(const Subject& subject, const Roofline& roofline, List& list) {
  list.exact("bytes that must move", roofline.bytes, "B", "problem");
  list.exact("operations", roofline.operations, "", "problem");
  list.exact("operations of matrix products", roofline.matmul_operations, "", "problem");
  list.exact("operations per byte", roofline.intensity(), "", "problem");
  const bool bytes = !roofline.bytes_measured_on.empty(), operations = !roofline.operations_measured_on.empty();
  list.peak("peak of DRAM", roofline.bytes_per_second, "B/s", bytes);
  list.peak(fmt::format("peak of {}", roofline.peak), roofline.operations_per_second, "1/s", operations);
  list.peak("operations per byte at which both peaks meet", roofline.ridge(), "", bytes && operations);
  list.exact("launches", of(subject.launches), "", "plan");
  list.exact("fills and copies", of(subject.other_steps), "", "plan");
  list.estimated("time of all the reference's work at the peaks", roofline.floor_seconds(), "s", bytes && operations ? "calibration" : "specification");
  if (subject.uncounted.empty()) list.estimated("time", subject.seconds, "s");
  if (!subject.measured) return;
  list.measured("time, cold", subject.measured->seconds, "s", subject.device->name);
  list.measured("time, cold, first quartile", subject.measured->low, "s", subject.device->name);
  list.measured("time, cold, third quartile", subject.measured->high, "s", subject.device->name);
  list.measured("time of an empty kernel", subject.measured->launch_seconds, "s", subject.device->name);
  if (subject.measured->timeline) of_timeline(*subject.measured->timeline, subject.device->name, list);
}

void of_code(const Kernel& kernel, List& list) {
  if (kernel.resources) {
    list.exact("registers a thread", kernel.resources->registers, "", "ptxas");
    list.exact("bytes spilled", of(kernel.resources->spill_store_bytes), "B", "ptxas");
    list.exact("bytes read back from spills", of(kernel.resources->spill_load_bytes), "B", "ptxas");
    list.exact("shared memory, static", of(kernel.resources->shared_bytes), "B", "ptxas");
    list.exact("blocks an SM", kernel.occupancy.blocks_per_sm, "", "ptxas");
    list.exact("occupancy", kernel.occupancy.fraction, "", "ptxas");
  }
  list.exact("shared memory, dynamic", kernel.launched.dynamic_shared_bytes, "B", "plan");
  if (!kernel.sass) return;
  list.exact("instructions in the text", of(kernel.sass->instructions), "", "SASS");
  list.exact("spilling instructions in the text", of(kernel.sass->local_loads + kernel.sass->local_stores), "", "SASS");
  uint64_t tensor = 0, slow = 0;
  for (const auto& [form, count] : kernel.sass->tensor) tensor += count;
  for (const auto& [routine, count] : kernel.sass->slow_paths) slow += count;
  list.exact("tensor-core instructions in the text", of(tensor), "", "SASS");
  list.exact("calls of slow paths in the text", of(slow), "", "SASS");
  double bytes = 0, loads = 0;
  for (const auto& access : kernel.sass->accesses) {
    if (access.space != "global" || access.operation == "st") continue;
    bytes += of(access.bytes * access.count);
    loads += of(access.count);
  }
  if (loads > 0) list.exact("bytes a thread of a global load in the text", bytes / loads, "B", "SASS");
  list.exact("global loads in flight", kernel.sass->loads_in_flight, "", "SASS");
}

void of_counters(const Kernel& kernel, bool exactly, List& list) {
  using C = emu::Counters;
  const C& c = kernel.counters;
  double instructions = 0, threads = 0;
  for (const uint64_t n : c.warp_instructions) instructions += of(n);
  for (const uint64_t n : c.thread_instructions) threads += of(n);
  const char* from = "emulator";
  const auto say = [&](std::string name, double value, std::string unit, std::string source) {
    if (exactly) list.exact(std::move(name), value, std::move(unit), std::move(source));
    else list.estimated(std::move(name), value, std::move(unit), std::move(source));
  };
  say("warp instructions", instructions, "", from);
  say("active lanes", share_of(threads, 32 * instructions), "", from);
  for (int i = 0; i < C::kClasses; ++i) {
    const auto each = static_cast<C::Class>(i);
    if (c.warp_instructions[each] != 0) say(fmt::format("share of {} instructions", emu::name_of(each)), share_of(of(c.warp_instructions[each]), instructions), "", from);
  }
  say("bytes loaded from global memory", of(c.global.load_bytes + c.cp_async_global_bytes), "B", from);
  say("bytes stored to global memory", of(c.global.store_bytes), "B", from);
  if (c.global.load_requests != 0) say("sectors a load request", share_of(of(c.global.sectors_load), of(c.global.load_requests)), "", from);
  if (c.global.store_requests != 0) say("sectors a store request", share_of(of(c.global.sectors_store), of(c.global.store_requests)), "", from);
  say("loads of a sector by a block", share_of(of(c.global.sectors_load + c.cp_async_sectors), of(c.block_sectors_load)), "", from);
  const double ideal = of(c.shared.ideal_wavefronts_load + c.shared.ideal_wavefronts_store + c.ldmatrix.ideal_wavefronts_load + c.cp_async.ideal_wavefronts_store);
  const double needed = of(c.shared.wavefronts_load + c.shared.wavefronts_store + c.ldmatrix.wavefronts_load + c.cp_async.wavefronts_store);
  if (ideal > 0) say("shared-memory wavefronts over the ideal", needed / ideal, "", from);
  say("divergent branches", share_of(of(c.divergent_branches), of(c.branches)), "", from);
  say("barriers a block", share_of(of(c.barriers), of(c.blocks)), "", from);
  say("operations of tensor cores", of(c.tensor_operations), "", from);
  say("busiest block over the average", kernel.work.block_imbalance, "", from);
  say("busiest warp over the average", kernel.work.warp_imbalance, "", from);
}

// Of the GPU: what ncu says, and what follows from two of its numbers.
void of_hardware(const HardwareCounters& counters, List& list) {
  const char* from = "ncu";
  std::array<bool, kCounterKinds> said{};
  for (const CounterKind& kind : counter_kinds()) {
    const auto i = static_cast<size_t>(kind.counter);
    if (!counters.values[i] || said[i]) continue;
    said[i] = true;
    list.measured(std::string(kind.name), *counters.values[i], std::string(kind.unit), from);
  }
  const auto ratio = [&](const char* name, Counter part, Counter whole) {
    if (counters.of(whole) > 0 && counters[part]) list.measured(name, counters.of(part) / counters.of(whole), "", from);
  };
  ratio("sectors a load request, on the GPU", Counter::kLoadSectors, Counter::kLoadRequests);
  ratio("sectors a store request, on the GPU", Counter::kStoreSectors, Counter::kStoreRequests);
  if (counters.stalls.empty()) return;
  list.measured("cycles of a warp between two instructions", counters.warp_latency(), "", from);
  std::vector<std::pair<double, std::string>> stalls;
  for (const auto& [reason, warps] : counters.stalls)
    if (warps > 0) stalls.emplace_back(counters.stall_share(reason), reason);
  std::sort(stalls.rbegin(), stalls.rend());
  for (const auto& [share, reason] : stalls) list.measured("of them: " + reason, share, "", from);
}

}  // namespace

std::vector<Metric> metrics_of(const Subject& subject, const Roofline& roofline) {
  List list;
  of_candidate(subject, roofline, list);
  for (const Kernel& kernel : subject.kernels) {
    list.kernel = kernel.name;
    list.exact("launches", of(kernel.launched.launches), "", "plan");
    list.exact("blocks of the largest launch", of(kernel.launched.largest_blocks), "", "plan");
    list.exact("threads a block", kernel.launched.threads, "", "plan");
    if (kernel.occupancy.blocks_per_sm > 0) {
      list.exact("waves", of(kernel.launched.largest_blocks) / (kernel.occupancy.blocks_per_sm * std::max(1.0, static_cast<double>(subject.target->part.sm_count))), "", "plan");
    }
    of_code(kernel, list);
    if (kernel.counted) of_counters(kernel, subject.counts_exactly(), list);
    if (kernel.hardware) of_hardware(*kernel.hardware, list);
    if (!subject.uncounted.empty()) continue;
    list.estimated("bytes from and to DRAM", kernel.work.dram_bytes, "B");
    list.estimated("bytes between L2 and SMs", kernel.work.l2_bytes, "B");
    for (int i = 0; i < Time::kResources; ++i) {
      const auto resource = static_cast<Time::Resource>(i);
      if (kernel.time.seconds[resource] > 0) list.estimated(fmt::format("time of {}", name_of(resource)), kernel.time.seconds[resource], "s");
    }
    list.estimated("time", kernel.time.total, "s");
  }
  return std::move(list.metrics);
}

}  // namespace kw::profile
