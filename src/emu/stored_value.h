// The bytes that `lane` is about to store with the st instruction `insn` (layout of ops_memory.cc). False for
// other instructions. Internal to emu.
#pragma once

#include "emu/warp.h"

namespace kw::emu {

bool stored_value(const Warp& warp, const Insn& insn, int lane, unsigned bytes, uint8_t* out);

}  // namespace kw::emu
