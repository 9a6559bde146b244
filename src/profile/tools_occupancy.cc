// Tools about what a block takes of an SM: registers, shared memory, threads.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profile/tools.h"

namespace kw::profile {
namespace {

double of(uint64_t n) { return static_cast<double>(n); }

Work with_blocks(const Kernel& kernel, double blocks_per_sm) {
  Work work = kernel.work;
  work.blocks_per_sm = blocks_per_sm;
  return work;
}

// The largest number of registers with which one block more fits an SM; 0: none does.
int registers_for(const Subject& subject, const Kernel& kernel, int blocks) {
  const int64_t shared = static_cast<int64_t>(kernel.resources->shared_bytes) + kernel.launched.dynamic_shared_bytes;
  for (int registers = static_cast<int>(kernel.resources->registers) - 1; registers >= 16; --registers) {
    if (arch::occupancy(*subject.target, registers, shared, static_cast<int>(kernel.launched.threads)).blocks_per_sm >= blocks) return registers;
  }
  return 0;
}

int64_t shared_for(const Subject& subject, int blocks) {
  const auto& limits = subject.target->limits;
  const int64_t each = limits.shared_per_sm_bytes / blocks - limits.shared_reserved_bytes;
  return std::max<int64_t>(0, each / std::max(1, limits.shared_unit_bytes) * std::max(1, limits.shared_unit_bytes));
}

// Trigger: fewer than half of the SM's warps fit, while there are blocks enough for more and those that fit do not suffice. Gain: with one block more.
std::optional<Advice> occupancy_limiter(const Subject& subject, const Kernel& kernel) {
  const arch::Occupancy& o = kernel.occupancy;
  if (!kernel.resources || warps_suffice(kernel) || o.blocks_per_sm == 0 || o.fraction >= 0.5 || o.limiter == arch::Limiter::kWarps) return std::nullopt;
  if (of(kernel.launched.largest_blocks) < o.blocks_per_sm * std::max(1, subject.target->part.sm_count)) return std::nullopt;
  const int64_t shared = static_cast<int64_t>(kernel.resources->shared_bytes) + kernel.launched.dynamic_shared_bytes;
  Advice advice = advice_at_launch(kernel);
  advice.saw = fmt::format("{} of {} warps fit an SM ({:.0f} %): {} blocks of {} threads, limited by {}", o.warps_per_sm, subject.target->limits.warps_per_sm,
                           100 * o.fraction, o.blocks_per_sm, kernel.launched.threads, arch::name(o.limiter));
  const int more = o.blocks_per_sm + 1;
  switch (o.limiter) {
    case arch::Limiter::kRegisters: {
      const int registers = registers_for(subject, kernel, more);
      if (registers == 0) return std::nullopt;
      advice.try_this = fmt::format("{} registers a thread instead of {} let {} blocks fit: __launch_bounds__({}, {}), or keep less alive at once",
                                    registers, kernel.resources->registers, more, kernel.launched.threads, more);
      break;
    }
    case arch::Limiter::kShared:
      advice.try_this = fmt::format("{} bytes of shared memory a block instead of {} let {} blocks fit: fewer stages, a smaller tile or a narrower type",
                                    shared_for(subject, more), shared, more);
      break;
    case arch::Limiter::kBlocks:
      advice.try_this = fmt::format("an SM takes {} blocks at the most: use blocks of at least {} threads", subject.target->limits.blocks_per_sm,
                                    subject.target->limits.threads_per_sm / subject.target->limits.blocks_per_sm);
      break;
    default: return std::nullopt;
  }
  const double blocks = o.limiter == arch::Limiter::kBlocks ? o.blocks_per_sm * 0.5 / o.fraction : more;
  advice.gain = subject.gain(kernel, with_blocks(kernel, blocks));
  return advice;
}

// Trigger: more registers than 96, and they are what limits the SM to less than half of its warps.
// Gain: with half as many blocks again. Tensor-core kernels keep accumulators by design: not theirs.
std::optional<Advice> register_pressure(const Subject& subject, const Kernel& kernel) {
  constexpr uint32_t kMany = 96;
  const arch::Occupancy& o = kernel.occupancy;
  if (!kernel.resources || warps_suffice(kernel) || kernel.resources->registers <= kMany || o.fraction >= 0.5 || o.limiter != arch::Limiter::kRegisters) return std::nullopt;
  if (kernel.counters.tensor_operations > 0) return std::nullopt;
  Advice advice = advice_at_launch(kernel);
  advice.saw = fmt::format("{} registers a thread leave room for {} of {} warps", kernel.resources->registers, o.warps_per_sm, subject.target->limits.warps_per_sm);
  advice.try_this = "let a thread hold less at once: fewer outputs a thread, less unrolling, values loaded when they are used";
  advice.gain = subject.gain(kernel, with_blocks(kernel, std::ceil(o.blocks_per_sm * 1.5)));
  return advice;
}

// Trigger: ptxas spills. Gain: without.
std::optional<Advice> spills(const Subject& subject, const Kernel& kernel) {
  if (!kernel.resources) return std::nullopt;
  const double bytes = of(kernel.resources->spill_load_bytes + kernel.resources->spill_store_bytes);
  if (bytes == 0) return std::nullopt;
  Advice advice = advice_at_launch(kernel);
  if (kernel.sass && !kernel.sass->local_places.empty()) {
    emu::Party party;
    party.source_file = kernel.sass->local_places.front().file;
    party.source_line = kernel.sass->local_places.front().line;
    advice = advice_at(subject, party);
  }
  advice.saw = fmt::format("{} registers a thread are not enough: {} bytes a thread are spilled to memory and {} read back", kernel.resources->registers,
                           kernel.resources->spill_store_bytes, kernel.resources->spill_load_bytes);
  advice.try_this = fmt::format("allow more registers (now {} a thread: a larger bound or fewer blocks in __launch_bounds__, no -maxrregcount), or keep less alive at once",
                                kernel.resources->registers);
  Work work = kernel.work;
  work.spills = work.l2_spills = 0;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// Trigger: the last warp of a block is not full, and that wastes a tenth of the lanes or more. Gain: with full warps.
std::optional<Advice> partial_warps(const Subject& subject, const Kernel& kernel) {
  const uint32_t threads = kernel.launched.threads, lanes = (threads + 31) / 32 * 32;
  if (threads == 0 || 10 * (lanes - threads) < lanes) return std::nullopt;
  Advice advice = advice_at_launch(kernel);
  advice.saw = fmt::format("blocks of {} threads occupy {} lanes: {:.0f} % of them never work", threads, lanes, 100.0 * (lanes - threads) / lanes);
  advice.try_this = "use a multiple of 32 threads a block";
  Work work = kernel.work;
  const double used = static_cast<double>(threads) / lanes;
  for (double& n : work.instructions) n *= used;
  work.line_passes *= used;
  work.shared_passes *= used;
  work.blocks *= used;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

}  // namespace

std::vector<Tool> occupancy_tools() {
  return {
      {"occupancy_limiter", "a resource that keeps warps off the SM", kAll, occupancy_limiter},
      {"register_pressure", "so many registers that too few warps fit", kAll, register_pressure},
      {"spills", "registers that ptxas keeps in memory", kAll, spills},
      {"partial_warps", "blocks that are no multiple of a warp", kAll, partial_warps},
  };
}

}  // namespace kw::profile
