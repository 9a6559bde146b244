// The addresses that the lanes of a warp access at once: loops over them, and their shape. Internal to emu.
#pragma once

#include <bit>
#include <cstdint>

#include "emu/warp.h"

namespace kw::emu {

// f(lane) for each lane, the lowest first.
template <typename F>
inline void for_lanes(Mask lanes, F&& f) {
  for (; lanes != 0; lanes &= lanes - 1) f(__builtin_ctz(lanes));
}

// f(first lane, begin, end) for each run of lanes that access `bytes` each, side by side.
template <typename F>
inline void for_runs(const uint64_t* addresses, Mask lanes, unsigned bytes, F&& f) {
  while (lanes != 0) {
    const int lane = std::countr_zero(lanes);
    const uint64_t begin = addresses[lane];
    uint64_t end = begin;
    while (lanes != 0 && addresses[std::countr_zero(lanes)] == end) {
      end += bytes;
      lanes &= lanes - 1;
    }
    f(lane, begin, end);
  }
}

// Whether all 32 lanes access `bytes` each, side by side in the order of the lanes.
inline bool are_consecutive(const uint64_t* addresses, Mask lanes, unsigned bytes) {
  if (lanes != kFull) return false;
  uint64_t difference = 0;
  for (uint64_t i = 0; i < kLanes; ++i) difference |= addresses[i] ^ (addresses[0] + i * bytes);
  return difference == 0;
}

}  // namespace kw::emu
