// What the .aligned matrix instructions (mma, wmma, ldmatrix, stmatrix, movmatrix) share. Internal to emu.
#pragma once

#include <fmt/format.h>

#include <span>

#include "emu/warp.h"
#include "ptx/module.h"

namespace kw::emu {

// True when the whole warp executes now. Otherwise either the missing lanes are waited for, or, when lanes have
// exited or do not exist, the block stops with a finding: the ISA leaves the result undefined, and the
// fragments that those lanes should hold are missing.
inline bool all_lanes_here(Warp& warp, const Insn& insn) {
  const Mask here = begin_aligned(warp, insn);
  if (here == kFull) return true;
  if (here != 0) {
    Finding finding;
    finding.kind = Finding::Kind::kBarrierDivergence;
    finding.fatal = true;
    finding.message = fmt::format(
        "this instruction needs all 32 lanes of the warp; lanes {:#010x} have exited or are beyond the block's threads",
        ~here);
    warp.block->fault(warp, insn, __builtin_ctz(here), std::move(finding));
  }
  return false;
}

// The registers of a fragment operand: the elements of {…}, or the operand itself when it is one register.
inline std::span<const ptx::Operand> fragment_operands(const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::kVector) return operand.elements;
  return {&operand, 1};
}

}  // namespace kw::emu
