#include "arch/occupancy.h"

#include <algorithm>

namespace kw::arch {
namespace {

constexpr int kWarpThreads = 32;

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

int blocks_by_registers(const Limits& limits, int registers, int warps) {
  if (registers > limits.registers_per_thread) return 0;
  if (registers <= 0) return limits.blocks_per_sm;
  const int64_t per_warp = round_up(int64_t{registers} * kWarpThreads, limits.register_unit);
  // The check at launch takes the block's warps to be spread evenly over the sub-partitions.
  if (per_warp * round_up(warps, limits.sub_partitions) > limits.registers_per_block) return 0;
  const int64_t warps_per_part = limits.registers_per_sm / limits.sub_partitions / per_warp;
  return static_cast<int>(warps_per_part * limits.sub_partitions / warps);
}

int blocks_by_shared(const Limits& limits, int64_t shared_bytes) {
  if (shared_bytes < 0 || shared_bytes > limits.shared_per_block_optin_bytes) return 0;
  const int64_t per_block = round_up(shared_bytes + limits.shared_reserved_bytes, limits.shared_unit_bytes);
  if (per_block == 0) return limits.blocks_per_sm;
  return static_cast<int>(limits.shared_per_sm_bytes / per_block);
}

}  // namespace

Occupancy occupancy(const Target& target, int registers_per_thread, int64_t shared_bytes, int threads_per_block) {
  const Limits& limits = target.limits;
  Occupancy result;
  if (threads_per_block <= 0 || threads_per_block > limits.threads_per_block) return result;
  const int warps = (threads_per_block + kWarpThreads - 1) / kWarpThreads;
  result.by_warps = limits.warps_per_sm / warps;
  result.by_blocks = limits.blocks_per_sm;
  result.by_registers = blocks_by_registers(limits, registers_per_thread, warps);
  result.by_shared = blocks_by_shared(limits, shared_bytes);
  result.blocks_per_sm = std::min({result.by_warps, result.by_blocks, result.by_registers, result.by_shared});
  if (result.blocks_per_sm == 0) return result;
  result.warps_per_sm = result.blocks_per_sm * warps;
  result.fraction = static_cast<double>(result.warps_per_sm) / limits.warps_per_sm;
  // When several bind at once: no more warps can be had by any means; else what the author can change.
  const int least = result.blocks_per_sm;
  result.limiter = result.by_warps == least       ? Limiter::kWarps
                   : result.by_registers == least ? Limiter::kRegisters
                   : result.by_shared == least    ? Limiter::kShared
                                                  : Limiter::kBlocks;
  return result;
}

std::string_view name(Limiter limiter) {
  switch (limiter) {
    case Limiter::kWarps: return "warps";
    case Limiter::kBlocks: return "blocks per SM";
    case Limiter::kRegisters: return "registers";
    case Limiter::kShared: return "shared memory";
    case Limiter::kDoesNotFit: return "does not fit";
  }
  return "";
}

}  // namespace kw::arch
