// What executes of a warp right now: one fragment, at one place. The instructions that end its run of straight code, but
// for the branch, act on it here; the run loop is in run_warp.cc. Internal to emu.
#pragma once

#include <bit>

#include "emu/block.h"
#include "emu/run_warp.h"

namespace kw::emu {

struct Execution {
  WarpState& s;
  Warp& w;
  Block& block;
  Frame* frame = nullptr;
  uint32_t pc = 0;
  Mask lanes = 0;                // none: the fragment was turned into others

  explicit Execution(WarpState& state) : s(state), w(state.warp), block(*state.owner) {}

  // Corrects the counts of the basic block that instruction `at` is of, from there on.
  void partial(uint32_t at, int64_t sign, Mask mask) {
    auto& p = frame->counts->partial[at];
    p.entries += sign;
    p.lanes += sign * std::popcount(mask);
  }
};

// Lanes that wait at instruction `at` of the executing frame until `needed` lanes stand there.
void wait_to_converge(Execution& e, Mask mask, uint32_t at, Mask needed);

// The terminators. `active`: the lanes that the guard lets execute `insn`, which stands at e.pc, at least one. False: the
// block was stopped.
bool branch_indexed(Execution& e, const Insn& insn, Mask active);
bool call_function(Execution& e, const Insn& insn, Mask active);
void return_from_call(Execution& e, Mask active);       // the frame has a parent
bool arrive_at_barrier(Execution& e, const Insn& insn, Mask active);
void sleep_for(Execution& e, const Insn& insn, Mask active);
void exit_lanes(Execution& e, Mask active);

}  // namespace kw::emu
