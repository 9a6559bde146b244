// The instructions of a basic block one after the other. Internal to emu.
//
// Chains: while all 32 lanes execute, the instructions of a basic block call each other. Insn::chain executes its
// instruction and ends in a tail call of the next one's, so that dispatch costs one indirect jump, predicted per
// instruction. The last one of a block, and every kChainLength-th, returns instead, with Warp::stopped_at set to the
// next instruction to execute. A compiler that does not make the calls tail calls (an unoptimised build) nests
// them kChainLength deep, no deeper.
#pragma once

#include "emu/warp.h"

namespace kw::emu {

// The lanes of `lanes` that the instruction's guard lets execute it.
inline Mask guard_lanes(const Warp& w, const Insn& insn, Mask lanes) {
  if (insn.guard == kNone) return lanes;
  const Mask p = *reinterpret_cast<const Mask*>(w.bank + insn.guard);
  return lanes & (insn.guard_negated ? ~p : p);
}

// Sets Insn::chain everywhere. Blocks must be known and Insn::special be set; an instruction whose chain is set
// already keeps it where it may (LaneOp::chained).
void link_chains(Code& code);

}  // namespace kw::emu
