// From virtual registers to bank slots: control flow, liveness, linear scan. Internal to emu.
//
// Liveness is per thread: lanes are disjoint columns of a slot, so registers whose ranges overlap on no
// path of a single thread may share a slot even when lanes of one warp are on both paths. An instruction
// under a guard, or one that writes only some executing lanes, does not end the life of the old value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emu/insn.h"

namespace kw::emu {

// Width of a virtual register: 0 = predicate, else bytes per lane (1, 2, 4, 8, 16).
struct VirtualRegister {
  uint8_t bytes = 4;
  bool constant = false;
  bool temporary = false;   // written and read by the instructions made of one PTX instruction
  bool pinned = false;      // keeps its slot for the whole function (parameters in registers)
  uint64_t bits = 0;        // constants
};

// Splits code.insns into basic blocks. `entries`: instruction indices that something jumps to.
// Branch targets must be instruction indices already.
void find_basic_blocks(Code& code, std::span<const uint32_t> entries);

// Replaces virtual registers by slot offsets in every instruction; fills code.constants, cleared,
// bank_bytes and constant_begin. Returns each register's slot (kNone when it is never used).
std::vector<uint32_t> assign_slots(Code& code, std::span<const VirtualRegister> registers);

}  // namespace kw::emu
