// cp.async copies that were issued and not yet performed (Options::async_completion == kLate): a copy's bytes
// are read and written when its lane waits for its group, so a missing wait shows up in the numbers.
// Internal to emu; one queue per warp of a block in flight, one host thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emu/insn.h"

namespace kw::emu {

struct Warp;

struct AsyncCopies {
  struct Copy {
    uint32_t lane = 0;
    uint32_t group = 0;            // of the lane, counted from 0
    uint32_t shared_offset = 0;
    uint32_t bytes = 0, source_bytes = 0;   // the rest of `bytes` becomes zero
    uint64_t source = 0;           // host address
  };
  std::vector<Copy> pending;                  // in order of issue
  std::array<uint32_t, kLanes> committed{};   // groups that each lane closed
};

// For the scheduler: the lanes exit. Copies that nobody waited for are performed now.
void complete_async_copies(Warp& warp, Mask lanes);

}  // namespace kw::emu
