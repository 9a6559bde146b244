// Collectives (shfl, vote, match, redux, elect, bar.warp.sync) whose lanes stand at different instructions.
//
// All lanes that a membermask names must execute the same intrinsic with the same mask; on sm_70 and later they need
// not do so at the same instruction (CUDA C++ Programming Guide, warp shuffle, vote and synchronisation functions):
// `__syncwarp()` in both sides of a branch is one barrier. Lanes that wait at different instructions with one
// operation and one mask are therefore executed together, in a bank of their own. Internal to emu.
#pragma once

#include "emu/run_warp.h"

namespace kw::emu {

class Lowering;

// Lowering of a collective ends with this: which operand is the membermask (0 to 3: op, 4 and 5: more).
void mark_collective(Lowering& lowering, Insn& insn, unsigned members);

// Executes every group of waiting lanes that is complete. Called when lanes begin to wait at a collective.
void combine_collectives(WarpState& state);

}  // namespace kw::emu
