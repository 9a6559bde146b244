#include "profile/subject.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace kw::profile {
namespace {

double of(uint64_t n) { return static_cast<double>(n); }

// How often the warps wait at asynchronous copies: `wait_group N` leaves N groups on their way.
double copy_waits(const Kernel& kernel) {
  double waits = 0;
  for (const Site& site : kernel.sites) {
    const std::string& text = site.party.instruction;
    if (text.find("cp.async.wait_all") != std::string::npos) waits += site.warps;
    const size_t at = text.find("cp.async.wait_group");
    if (at == std::string::npos) continue;
    const size_t digit = text.find_first_of("0123456789", at);
    waits += site.warps / (1 + (digit == std::string::npos ? 0 : std::atoi(text.c_str() + digit)));
  }
  return waits;
}

// Shared loads of a thread's neighbouring words are joined by ptxas: how many there are in the machine code for one in the PTX.
double joined_shared_loads(const Kernel& kernel) {
  const auto width_of = [](const std::vector<toolchain::MemoryAccess>& accesses) {
    double bytes = 0, count = 0;
    for (const auto& access : accesses) {
      if (access.operation != "ld" || access.space != "shared") continue;
      bytes += of(access.bytes * access.count);
      count += of(access.count);
    }
    return count > 0 ? bytes / count : 0;
  };
  const double ptx = width_of(kernel.ptx.accesses), sass = kernel.sass ? width_of(kernel.sass->accesses) : 0;
  return ptx > 0 && sass > ptx ? ptx / sass : 1;
}

// PTX does not spill. Every spilled word is a local access as often as an average instruction runs; what does not fit L1 goes to L2.
void add_spills(const Kernel& kernel, const Subject& subject, Work& work) {
  if (!kernel.resources) return;
  const double words = of(kernel.resources->spill_load_bytes + kernel.resources->spill_store_bytes) / 4;
  const double text = std::max(1.0, kernel.sass ? of(kernel.sass->instructions) : of(kernel.ptx.instructions));
  work.spills = work.issued() * std::min(0.9, words / text);
  const double resident = of(kernel.resources->spill_store_bytes) * kernel.launched.threads * work.blocks_per_sm;
  const double shared = (of(kernel.resources->shared_bytes) + kernel.launched.dynamic_shared_bytes) * work.blocks_per_sm;
  if (resident > of(static_cast<uint64_t>(subject.target->limits.shared_per_sm_bytes)) - shared) work.l2_spills = work.spills;
}

Work work_of(const Kernel& kernel, const Subject& subject) {
  using C = emu::Counters;
  Work work;
  const Launched& launched = kernel.launched;
  const Totals& totals = kernel.totals;
  work.launches = of(launched.launches);
  work.blocks = of(launched.blocks);
  work.warps_per_block = (launched.threads + 31) / 32;
  work.blocks_per_sm = std::max(1, kernel.occupancy.blocks_per_sm);
  work.dram_bytes = launched.buffer_bytes;
  if (!kernel.counted) {   // nothing but what must be moved
    work.l2_bytes = work.dram_bytes;
    return work;
  }
  const C& c = kernel.counters;
  const double blocks = std::max(1.0, of(c.blocks));
  // A block's later looks at a sector are taken to be served by L1: they mostly come soon after the first.
  work.l2_bytes = (totals.block_sectors + totals.store_sectors + totals.local_sectors) * kSectorBytes;
  // Of the buffers, the part that is touched, as far as the counted workload tells.
  if (kernel.counted_launched.buffer_bytes > 0) {
    const double touched = std::min(1.0, of(c.launch_sectors) * kSectorBytes / kernel.counted_launched.buffer_bytes);
    work.dram_bytes = std::min(launched.buffer_bytes * touched, (totals.load_sectors + totals.store_sectors) * kSectorBytes);
  }
  const double joined = joined_shared_loads(kernel);
  double shared_loads = 0;
  for (const Site& site : kernel.sites) {
    if (site.space == ptx::Space::kLocal) work.line_passes += std::max(site.requests, site.sectors / 4);
    if (site.is_global()) work.line_passes += std::max(site.requests, site.lines);
    if (site.is_atomic() && site.is_global()) {
      work.atomic_updates += site.threads;
      work.atomic_lines = std::max(work.atomic_lines, site.addresses / 32);   // of four bytes, side by side
    }
    const double passes = std::max(site.wavefronts, site.space == ptx::Space::kShared ? site.address_passes : 0);
    work.shared_passes += site.instruction_class == C::kLoad ? passes * joined : passes;
    if (site.wavefronts > 0 && site.is_load()) shared_loads += site.instruction_class == C::kLoad ? site.warps * joined : site.warps;
  }
  work.instructions = totals.warps;
  work.tensor_operations = c.tensor_operations == 0 ? 0 : of(c.tensor_operations) * totals.warps[C::kTensor] / std::max(1.0, of(c.warp_instructions[C::kTensor]));
  if (subject.matmul_dtype) work.tensor_dtype = *subject.matmul_dtype;

  const double warps = std::max(1.0, kernel.warps());
  const double in_flight = std::max(1.0, kernel.sass ? kernel.sass->loads_in_flight : 1);
  double loads = 0;
  for (const Site& site : kernel.sites) loads += site.is_global() && site.is_load() ? site.requests : 0;
  work.load_waits = (loads / in_flight + copy_waits(kernel)) / warps;
  work.shared_loads = shared_loads / warps;
  // A block's later looks at a sector find it in L1, other blocks' in L2.
  if (totals.load_sectors > 0 && totals.block_sectors > 0) {
    work.l1_share = 1 - std::min(1.0, totals.block_sectors / totals.load_sectors);
    work.l2_share = 1 - std::min(1.0, work.dram_bytes / (totals.block_sectors * kSectorBytes));
  }
  add_spills(kernel, subject, work);
  work.barriers = totals.warps[C::kBarrier] / warps;
  const double counted = of(std::accumulate(c.warp_instructions.begin(), c.warp_instructions.end(), uint64_t{0}));
  if (subject.counted_as != CountedAs::kScaled && counted > 0) {   // how a smaller workload spreads tells nothing of a larger one
    work.block_imbalance = std::max(1.0, of(c.busiest_block) * blocks / counted);
    work.warp_imbalance = std::max(1.0, of(c.busiest_warps) * of(c.warps) / blocks / counted);
    if (work.warp_imbalance > 0.75 * work.warps_per_block) work.load_imbalance = work.warp_imbalance;   // a warp that does everything loads alone
  }
  return work;
}

}  // namespace

std::string_view name_of(CountedAs how) { return how == CountedAs::kShortened ? "shortened" : how == CountedAs::kSampled ? "sampled" : "scaled"; }

double Kernel::warps() const { return of(launched.blocks) * ((launched.threads + 31) / 32); }

double Subject::gain(const Kernel& kernel, const Work& changed) const {
  return gain_without(kernel.time.total - estimate(changed, *target).total);
}

double Subject::gain_from(const Kernel& kernel, const Work& real) const {
  return kernel.time.total > 0 ? 1 + kernel.share * (estimate(real, *target).total / kernel.time.total - 1) : 1;
}

double Subject::gain_without(double saved) const { return saved <= 0 || saved >= seconds ? 1 : seconds / (seconds - saved); }

bool Subject::has_dtype(tensor::DType dtype) const {
  const auto is = [&](const problem::TensorDecl& declaration) { return declaration.dtype == dtype; };
  return std::any_of(problem->inputs.begin(), problem->inputs.end(), is) || std::any_of(problem->outputs.begin(), problem->outputs.end(), is);
}

void estimate_all(Subject& subject) {
  double sum = 0;
  for (Kernel& kernel : subject.kernels) {
    kernel.work = work_of(kernel, subject);
    kernel.time = estimate(kernel.work, *subject.target);
    sum += kernel.time.total;
  }
  for (Kernel& kernel : subject.kernels) kernel.share = sum > 0 ? kernel.time.total / sum : 0;
  subject.seconds = sum + of(subject.other_steps) * kLaunchSeconds;
  std::stable_sort(subject.kernels.begin(), subject.kernels.end(), [](const Kernel& a, const Kernel& b) { return a.share > b.share; });
}

}  // namespace kw::profile
