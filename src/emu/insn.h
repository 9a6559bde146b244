// Decoded code: what lowering makes of a PTX function and a warp executes. Internal to emu.
//
// A warp's registers of one frame live in one bank: each register slot holds all 32 lanes side by side
// (a .b32 slot is uint32_t[32], a .b16 slot uint16_t[32], .b64 uint64_t[32], .b128 16 bytes × 32;
// a predicate is one uint32_t with a bit per lane). Insn operands are byte offsets into the bank; during
// lowering they are virtual register ids (Lowering rewrites them after slot allocation).
// Immediates and constants are slots too, filled when the frame is made, never written afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emu/finding.h"
#include "ptx/module.h"

namespace kw::emu {

inline constexpr int kLanes = 32;
using Mask = uint32_t;
inline constexpr Mask kFull = 0xffffffffu;
inline constexpr uint32_t kNone = 0xffffffffu;   // "no operand"

struct Insn;
struct Warp;
// Executes for the lanes in warp.exec (never empty). Must not touch the destination's other lanes.
using Handler = void (*)(Warp&, const Insn&);

struct Insn {
  Handler full = nullptr;        // when all 32 lanes execute
  Handler masked = nullptr;      // otherwise; may be the same function
  uint32_t op[4] = {kNone, kNone, kNone, kNone};
  const uint32_t* more = nullptr;  // operands beyond four
  uint64_t imm = 0;              // meaning is the handler's
  uint32_t aux = 0;              // meaning is the handler's
  uint32_t guard = kNone;        // predicate slot
  uint32_t target = kNone;       // branches, calls: index into Code::insns, or handler's own
  uint32_t source = 0;           // index into Code::sources
  uint16_t more_count = 0;
  uint16_t more_defs = 0;        // the first more_defs of `more` are written
  uint8_t op_defs = 0;           // bit i: op[i] is written
  uint8_t op_uses = 0;           // bit i: op[i] is read (both bits: read and written)
  bool guard_negated = false;
  bool ends_block = false;       // may change pc, block, or yield: the run loop stops after it
  Counters::Class instruction_class = Counters::kOther;
};

// Where a decoded instruction came from.
struct Source {
  const ptx::Instruction* instruction = nullptr;
};

struct ConstantSlot { uint32_t offset = 0; uint32_t bytes_per_lane = 4; uint64_t bits = 0; };

// One lowered function.
struct Code {
  const ptx::Function* function = nullptr;
  std::vector<Insn> insns;
  std::vector<std::unique_ptr<uint32_t[]>> operand_pool;   // backs Insn::more
  std::vector<Source> sources;
  std::vector<ConstantSlot> constants;
  uint32_t bank_bytes = 0;       // registers + constants of one frame of one warp
  uint32_t constant_begin = 0;   // constants occupy [constant_begin, bank_bytes)
  uint32_t local_bytes = 0;      // .local variables and .param scratch of the frame, per thread
};

}  // namespace kw::emu
