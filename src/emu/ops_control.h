// Encoding of barrier instructions (Terminator::kBarrier) in Insn::imm. Operands: op[0] barrier id, op[1] thread
// count or kNone, op[2] predicate read by .red, op[3] its destination.
#pragma once

#include <cstdint>

namespace kw::emu {

enum class BarrierMode : uint8_t { kSync, kArrive, kPopcount, kAnd, kOr };
struct BarrierBits {
  BarrierMode mode = BarrierMode::kSync;
  bool aligned = false;
  bool negated = false;              // of op[2]
  static BarrierBits decode(uint64_t imm) {
    return {static_cast<BarrierMode>(imm & 7), (imm & 8) != 0, (imm & 16) != 0};
  }
  uint64_t encode() const {
    return static_cast<uint64_t>(mode) | (aligned ? 8u : 0u) | (negated ? 16u : 0u);
  }
};

}  // namespace kw::emu
