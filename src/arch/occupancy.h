// How many blocks of a kernel an SM holds at once, counted as NVIDIA's occupancy calculator counts: registers are
// given to warps in units, per sub-partition; shared memory to blocks in units after the system's reserve.
// Assumes the shared-memory carve-out to be as large as the target allows. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "arch/target.h"

namespace kw::arch {

enum class Limiter { kWarps, kBlocks, kRegisters, kShared, kDoesNotFit };

struct Occupancy {
  int blocks_per_sm = 0;  // 0: a block does not fit (limiter kDoesNotFit; what by_… is 0 says why)
  int warps_per_sm = 0;
  double fraction = 0;    // of the target's warps
  Limiter limiter = Limiter::kDoesNotFit;
  // Blocks that each resource alone would allow.
  int by_warps = 0, by_blocks = 0, by_registers = 0, by_shared = 0;
};

// registers per thread as ptxas reports them; shared bytes of a block, static and dynamic together.
Occupancy occupancy(const Target& target, int registers_per_thread, int64_t shared_bytes, int threads_per_block);

std::string_view name(Limiter limiter);  // "registers", "shared memory", …

}  // namespace kw::arch
