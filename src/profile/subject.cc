#include "profile/subject.h"

#include <algorithm>

namespace kw::profile {
namespace {

double of(uint64_t n) { return static_cast<double>(n); }

// How often a warp waits at asynchronous copies: `wait_group N` leaves N groups on their way.
double copy_waits(const Kernel& kernel) {
  double waits = 0;
  for (const emu::SiteCounters& site : kernel.sites) {
    const std::string& text = site.party.instruction;
    if (text.find("cp.async.wait_all") != std::string::npos) waits += of(site.warps);
    const size_t at = text.find("cp.async.wait_group");
    if (at == std::string::npos) continue;
    const size_t digit = text.find_first_of("0123456789", at);
    waits += of(site.warps) / (1 + (digit == std::string::npos ? 0 : std::atoi(text.c_str() + digit)));
  }
  return waits;
}

Work work_of(const Kernel& kernel, const Subject& subject) {
  Work work;
  const Launched& launched = kernel.launched;
  const emu::Counters& c = kernel.counters;
  work.launches = of(launched.launches);
  work.blocks = of(launched.blocks);
  work.warps_per_block = (launched.threads + 31) / 32;
  work.blocks_per_sm = std::max(1, kernel.occupancy.blocks_per_sm);
  work.dram_bytes = launched.buffer_bytes;
  if (subject.kernels.size() == 1) work.dram_bytes = subject.cost.input_bytes + subject.cost.output_bytes;
  if (!kernel.counted) {   // nothing but what must be moved
    work.l2_bytes = work.dram_bytes;
    return work;
  }
  const double scale = kernel.scale;
  const double sectors = of(c.global.sectors_load + c.cp_async_sectors), stored = of(c.global.sectors_store);
  // A block's second look at a sector is served by L1, if what its neighbours on the SM load leaves room for it.
  const double blocks = std::max(1.0, of(c.blocks));
  const double cached = of(c.block_sectors_load) / blocks * kSectorBytes * work.blocks_per_sm;
  const double shared = static_cast<double>(kernel.resources ? kernel.resources->shared_bytes : 0) + launched.dynamic_shared_bytes;
  const bool fits = cached + shared * work.blocks_per_sm <= subject.target->limits.shared_per_sm_bytes;
  work.l2_bytes = ((fits ? of(c.block_sectors_load) : sectors) + stored + of(c.local.sectors_load + c.local.sectors_store)) * kSectorBytes * scale;
  // Of the buffers, the part that is touched, as far as the counted workload tells.
  if (kernel.counted_launched.buffer_bytes > 0) {
    const double touched = std::min(1.0, of(c.launch_sectors) * kSectorBytes / kernel.counted_launched.buffer_bytes);
    work.dram_bytes = std::min(launched.buffer_bytes * touched, (sectors + stored) * kSectorBytes * scale);
  }
  for (const emu::SiteCounters& site : kernel.sites) {
    if (site.space == ptx::Space::kGlobal || site.space == ptx::Space::kNone || site.space == ptx::Space::kLocal) {
      work.line_passes += std::max(of(site.requests), of(site.sectors) / 4) * scale;
    }
    if (site.instruction_class == emu::Counters::kAtomic && site.space != ptx::Space::kShared) {
      work.atomic_updates += of(site.threads) * scale;
      work.atomic_addresses = std::max(work.atomic_addresses, of(site.addresses));
    }
    work.shared_passes += std::max(of(site.wavefronts), site.space == ptx::Space::kShared ? of(site.address_passes) : 0) * scale;
  }
  for (size_t i = 0; i < work.instructions.size(); ++i) work.instructions[i] = of(c.warp_instructions[i]) * scale;
  work.tensor_operations = of(c.tensor_operations) * scale;
  if (subject.matmul_dtype) work.tensor_dtype = *subject.matmul_dtype;

  // Of one warp. The profiled workload has its own number of warps, which the scale does not know.
  const double warps = std::max(1.0, work.blocks * work.warps_per_block) / scale;
  const double in_flight = std::max(1.0, kernel.sass ? kernel.sass->loads_in_flight : 1);
  work.load_waits = (of(c.global.load_requests) / in_flight + copy_waits(kernel)) / warps;
  work.shared_loads = of(c.shared.load_requests + c.ldmatrix.load_requests) / warps;
  work.barriers = of(c.barriers) * work.warps_per_block / warps;
  if (c.busiest_block > 0 && kernel.instructions() > 0) {
    work.block_imbalance = std::max(1.0, of(c.busiest_block) * blocks / kernel.instructions());
    const double counted_warps = std::max(1.0, of(c.warps) / blocks);
    work.warp_imbalance = std::max(1.0, of(c.busiest_warps) * counted_warps / kernel.instructions());
  }
  return work;
}

}  // namespace

double Kernel::instructions() const {
  double sum = 0;
  for (const uint64_t n : counters.warp_instructions) sum += of(n);
  return sum;
}

double Subject::gain(const Kernel& kernel, const Work& changed) const {
  return gain_without(kernel.time.total - estimate(changed, *target).total);
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
