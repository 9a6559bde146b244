#include "emu/run_warp.h"

#include <algorithm>
#include <bit>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "emu/chain.h"
#include "emu/collective.h"
#include "emu/execution.h"

namespace kw::emu {
namespace {

constexpr uint64_t kSlice = 2048;   // instructions before another fragment of the warp gets a turn
constexpr uint32_t kPolls = 32;     // rounds of a loop that looks at what others write, before they get a turn

// Makes the warp's view that of a fragment.
void enter(WarpState& s, Frame* frame) {
  s.warp.bank = frame->bank;
  s.warp.code = frame->code;
  s.warp.local_frame = frame->local_frame;
  s.warp.frame = frame;
}

// Runs [in, end) for `lanes`; returns where it stopped: end, or the instruction that interrupted.
const Insn* run_straight(Warp& w, const Insn* in, const Insn* end, Mask lanes) {
  w.exec = lanes;
  if (lanes == kFull) {
    while (in != end) {
      in->chain(w, *in);
      in = w.stopped_at;
      if (w.interrupted) [[unlikely]] break;
    }
    return in;
  }
  for (; in != end; ++in) {
    if (!in->special) {
      in->masked(w, *in);
      continue;
    }
    const Mask active = guard_lanes(w, *in, lanes);
    if (active == 0) continue;
    w.exec = active;
    in->masked(w, *in);
    if (w.interrupted) [[unlikely]] return in;
    w.exec = lanes;
  }
  return end;
}

struct Runner : Execution {
  bool forced = false;           // this fragment's turn came by age, not by place
  uint64_t slice_end = 0;

  using Execution::Execution;
  Turn run(uint64_t quantum);
  bool pick();
  bool rotate();
  bool meet();
  void count_entry(const BasicBlock& bb, uint32_t b);
  void interrupt(const BasicBlock& bb, uint32_t stop);
  void branch(const Insn& insn, Mask active);
  bool terminate(const Insn& insn);
  void put_back() {
    if (lanes != 0) add_fragment(s, frame, pc, lanes);
    lanes = 0;
  }
};

void Runner::branch(const Insn& insn, Mask active) {
  if (active == lanes) {
    pc = insn.target;
    return;
  }
  ++frame->counts->divergent_branches;
  if (insn.target == pc + 1) {
    ++pc;
    return;
  }
  add_fragment(s, frame, std::max(insn.target, pc + 1), insn.target > pc + 1 ? active : lanes & ~active);
  lanes = insn.target > pc + 1 ? lanes & ~active : active;
  pc = std::min(insn.target, pc + 1);
}

// The terminator at `pc`. False: the block was stopped.
bool Runner::terminate(const Insn& insn) {
  const Mask active = guard_lanes(w, insn, lanes);
  if (active == 0) {
    ++pc;
    return true;
  }
  w.exec = active;
  switch (static_cast<Terminator>(insn.aux)) {
    case Terminator::kBranch: branch(insn, active); return true;
    case Terminator::kBranchIndexed: return branch_indexed(*this, insn, active);
    case Terminator::kCall: return call_function(*this, insn, active);
    case Terminator::kBarrier: return arrive_at_barrier(*this, insn, active);
    case Terminator::kYield: sleep_for(*this, insn, active); return true;
    case Terminator::kReturn:
      if (frame->parent != nullptr) {
        return_from_call(*this, active);
        return true;
      }
      break;
    case Terminator::kExit: break;
  }
  exit_lanes(*this, active);
  return true;
}

// Takes the fragment to run out of the list.
bool Runner::pick() {
  size_t best = s.fragments.size();
  for (size_t i = 0; i < s.fragments.size(); ++i) {
    const Fragment& f = s.fragments[i];
    if (f.state != Fragment::State::kReady) continue;
    if (best == s.fragments.size()) { best = i; continue; }
    const Fragment& b = s.fragments[best];
    if (f.frame->depth != b.frame->depth ? f.frame->depth > b.frame->depth : f.pc < b.pc) best = i;
  }
  if (best == s.fragments.size()) return false;
  frame = s.fragments[best].frame;
  pc = s.fragments[best].pc;
  lanes = s.fragments[best].mask;
  s.fragments.erase(s.fragments.begin() + static_cast<std::ptrdiff_t>(best));
  enter(s, frame);
  forced = false;
  slice_end = s.steps + kSlice;
  return true;
}

// Accounts for [pc, end of its block), about to run.
void Runner::count_entry(const BasicBlock& bb, uint32_t b) {
  CodeCounts& counts = *frame->counts;
  s.steps += bb.end - pc;
  if (pc == bb.begin) [[likely]] {
    ++counts.entries[b];
    counts.lanes[b] += static_cast<uint64_t>(std::popcount(lanes));
  } else {   // entered half way
    partial(pc, 1, lanes);
  }
}

// The instruction at `stop` did not let every lane past.
void Runner::interrupt(const BasicBlock& bb, uint32_t stop) {
  s.steps -= bb.end - stop;
  partial(stop, -1, lanes);
  const Mask waiting = w.waiting, others = lanes & ~waiting;
  w.waiting = 0;
  if (others != 0) {   // executed here, once, by those that did not wait
    partial(stop, 1, others);
    if (stop + 1 < bb.end) partial(stop + 1, -1, others);
    ++s.steps;
    add_fragment(s, frame, stop + 1, others);
  }
  if (waiting != 0) {
    wait_to_converge(*this, waiting, stop, w.needed);
    combine_collectives(s);
  }
  lanes = 0;
}

// Exchanges the executing fragment for the ready one that has not run for longest, which then keeps its turn
// whatever its place. False when there is no other.
bool Runner::rotate() {
  size_t oldest = s.fragments.size();
  for (size_t i = 0; i < s.fragments.size(); ++i) {
    if (s.fragments[i].state != Fragment::State::kReady) continue;
    if (oldest == s.fragments.size() || s.fragments[i].stamp < s.fragments[oldest].stamp) oldest = i;
  }
  if (oldest == s.fragments.size()) return false;
  const Fragment next = s.fragments[oldest];
  s.fragments.erase(s.fragments.begin() + static_cast<std::ptrdiff_t>(oldest));
  put_back();
  frame = next.frame;
  pc = next.pc;
  lanes = next.mask;
  enter(s, frame);
  forced = true;
  slice_end = s.steps + kSlice;
  return true;
}

// At the start of a block, with other fragments about: joins those that stand here. False: it is another's turn.
bool Runner::meet() {
  bool further_back = false;
  for (size_t i = 0; i < s.fragments.size();) {
    Fragment& f = s.fragments[i];
    if (f.frame == frame && f.pc == pc && f.state != Fragment::State::kBarrier) {
      lanes |= f.mask;
      s.fragments.erase(s.fragments.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (f.state == Fragment::State::kReady && (f.frame->depth > frame->depth || (f.frame->depth == frame->depth && f.pc < pc))) {
      further_back = true;
    }
    ++i;
  }
  if (s.steps < slice_end) return forced || !further_back;
  if (forced) return false;
  rotate();
  return true;
}

Turn Runner::run(uint64_t quantum) {
  uint32_t polls = 0;
  for (;;) {
    if (s.steps >= quantum) return Turn::kYielded;
    if (!pick()) return w.live == 0 ? Turn::kOver : Turn::kBlocked;
    while (lanes != 0) {
      const Code& code = *frame->code;
      const uint32_t b = code.block_of[pc];
      const BasicBlock bb = code.blocks[b];
      count_entry(bb, b);
      const Insn* base = code.insns.data();
      const uint32_t straight_end = bb.end - (bb.has_terminator ? 1 : 0);
      const Insn* at = run_straight(w, base + pc, base + straight_end, lanes);
      if (at != base + straight_end) [[unlikely]] {
        w.interrupted = false;
        if (block.context().stopped) return Turn::kOver;
        interrupt(bb, static_cast<uint32_t>(at - base));
        break;
      }
      pc = straight_end;
      if (bb.has_terminator) {
        const Insn& insn = base[straight_end];
        if (!terminate(insn)) return Turn::kOver;
        if (lanes == 0) break;
        if (static_cast<Terminator>(insn.aux) == Terminator::kYield && !rotate()) {
          put_back();
          return Turn::kYielded;
        }
        if (pc < bb.end) {   // a loop went round
          const bool waits = bb.polls && ++polls >= kPolls;
          if (waits) polls = 0;
          if (s.steps >= quantum || (waits && !rotate())) {
            put_back();
            return Turn::kYielded;
          }
        }
      }
      if (!s.fragments.empty() && !meet()) break;
    }
    put_back();
  }
}

}  // namespace

bool WarpState::has_ready() const {
  for (const Fragment& f : fragments) {
    if (f.state == Fragment::State::kReady) return true;
  }
  return false;
}

void add_fragment(WarpState& state, Frame* frame, uint32_t pc, Mask lanes) {
  if (lanes == 0) return;
  for (Fragment& f : state.fragments) {
    if (f.frame == frame && f.pc == pc && f.state != Fragment::State::kBarrier) {
      f.mask |= lanes;
      f.state = Fragment::State::kReady;
      return;
    }
  }
  state.fragments.push_back({frame, pc, lanes, Fragment::State::kReady, 0, 0, ++state.stamp});
}

Turn run_warp(WarpState& state, uint64_t quantum) {
  state.steps = 0;
  const Turn turn = Runner(state).run(quantum);
#if defined(__AVX2__)
  _mm256_zeroupper();   // once here instead of in every handler (CMakeLists.txt)
#endif
  return turn;
}

}  // namespace kw::emu
