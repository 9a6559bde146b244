#include "emu/chain.h"

#include "emu/program.h"

namespace kw::emu {
namespace {

constexpr uint32_t kChainLength = 128;

void chain_end(Warp& w, const Insn& insn) { w.stopped_at = &insn; }

// Any instruction that is not special; kLast: returns after it.
template <bool kLast>
void chain_plain(Warp& w, const Insn& insn) {
  insn.full(w, insn);
  if constexpr (kLast) w.stopped_at = &insn + 1;
  else return go_on(w, insn);
}

template <bool kLast>
void chain_special(Warp& w, const Insn& insn) {
  const Mask active = guard_lanes(w, insn, kFull);
  if (active != 0) {
    w.exec = active;
    (active == kFull ? insn.full : insn.masked)(w, insn);
    if (w.interrupted) [[unlikely]] {
      w.stopped_at = &insn;
      return;
    }
    w.exec = kFull;
  }
  if constexpr (kLast) w.stopped_at = &insn + 1;
  else return go_on(w, insn);
}

}  // namespace

void link_chains(Code& code) {
  for (const BasicBlock& bb : code.blocks) {
    for (uint32_t i = bb.begin; i < bb.end; ++i) {
      Insn& insn = code.insns[i];
      const bool last = (i + 1 == bb.end && !bb.has_terminator) || (i - bb.begin) % kChainLength == kChainLength - 1;
      if (insn.ends_block) insn.chain = &chain_end;
      else if (insn.special) insn.chain = last ? &chain_special<true> : &chain_special<false>;
      else if (last) insn.chain = &chain_plain<true>;
      else if (insn.chain == nullptr) insn.chain = &chain_plain<false>;
    }
  }
}

}  // namespace kw::emu
