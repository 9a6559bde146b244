#include "emu/run_warp.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "emu/async_copy.h"
#include "emu/block.h"
#include "emu/collective.h"
#include "emu/frame.h"
#include "emu/observer.h"
#include "emu/ops_control.h"

namespace kw::emu {
namespace {

constexpr uint32_t kMaxDepth = 4096;          // frames of a warp
constexpr uint64_t kMaxFrameBytes = 64u << 20;   // registers of a warp's calls
constexpr uint64_t kSlice = 2048;             // instructions before another fragment of the warp gets a turn

// Makes the warp's view that of a fragment.
void enter(WarpState& s, Frame* frame) {
  s.warp.bank = frame->bank;
  s.warp.code = frame->code;
  s.warp.local_frame = frame->local_frame;
  s.warp.frame = frame;
}

Mask guard_lanes(const Warp& w, const Insn& insn, Mask lanes) {
  if (insn.guard == kNone) return lanes;
  const Mask p = *reinterpret_cast<const Mask*>(w.bank + insn.guard);
  return lanes & (insn.guard_negated ? ~p : p);
}

// ── Chains (run_warp.h) ──────────────────────────────────────────────────────────────────────────────────

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

struct Runner {
  WarpState& s;
  Warp& w;
  Block& block;
  Frame* frame = nullptr;
  uint32_t pc = 0;
  Mask lanes = 0;

  bool forced = false;           // this fragment's turn came by age, not by place
  uint64_t slice_end = 0;

  explicit Runner(WarpState& state) : s(state), w(state.warp), block(*state.owner) {}

  // The executing fragment stops being one; its lanes live on in what it was turned into.
  void park(Fragment::State state, Mask mask, uint32_t at, Mask needed, uint8_t barrier = 0) {
    if (state == Fragment::State::kConverge) {
      for (Fragment& f : s.fragments) {
        if (f.frame == frame && f.pc == at && f.state == Fragment::State::kConverge) {
          f.mask |= mask;
          f.needed |= needed;
          f.state = Fragment::State::kReady;   // looks again, now with more lanes
          return;
        }
        if (f.frame == frame && f.pc == at && f.state == Fragment::State::kReady) {
          f.mask |= mask;
          return;
        }
      }
    }
    s.fragments.push_back({frame, at, mask, state, barrier, needed, ++s.stamp});
  }

  void partial(uint32_t at, int64_t sign, Mask mask) {
    auto& p = frame->counts->partial[at];
    p.entries += sign;
    p.lanes += sign * std::popcount(mask);
  }

  void exit_lanes(Mask gone) {
    complete_async_copies(w, gone);
    w.live &= ~gone;
    for (Frame* f = frame; f != nullptr;) {
      Frame* parent = f->parent;
      f->lanes &= ~gone;
      if (f->lanes == 0 && f != &s.base) release_frame(s, f);
      f = parent;
    }
    for (Fragment& f : s.fragments) {
      if (f.state == Fragment::State::kConverge) f.state = Fragment::State::kReady;
    }
    block.lanes_exited(s);
  }

  bool call(const Insn& insn, Mask& active) {
    const CallSite& site = *frame->code->calls[insn.imm];
    if (site.system != CallSite::System::kNone) return block.call_system(s, insn, site, active);
    uint32_t callee = site.callee;
    if (callee == kNone) {
      const uint64_t* handles = w.reg<uint64_t>(insn.op[0]);
      const uint64_t handle = handles[std::countr_zero(active)];
      Mask same = 0;
      for (Mask m = active; m != 0; m &= m - 1) {
        if (handles[std::countr_zero(m)] == handle) same |= m & -m;
      }
      active = same;
      const uint64_t index = (handle - kCodeWindow) / 16;
      if (handle < kCodeWindow || handle % 16 != 0 || index >= block.plan().program->functions.size() ||
          !block.plan().kernel->codes.contains(static_cast<uint32_t>(index))) {
        Finding finding;
        finding.kind = Finding::Kind::kInvalidOperand;
        finding.address = handle;
        finding.message = fmt::format("indirect call of {:#x}, which is not the address of a function", handle);
        block.context().fault(w, insn, std::countr_zero(active), std::move(finding));
        return false;
      }
      callee = static_cast<uint32_t>(index);
    }
    const Code& code = *block.plan().kernel->codes.at(callee);
    if (site.callee == kNone && (code.parameters.size() != site.arguments.size() || code.results.size() != site.returns.size())) {
      Finding finding;
      finding.kind = Finding::Kind::kInvalidOperand;
      finding.message = fmt::format("indirect call of '{}' with {} arguments and {} results; it has {} and {}",
                                    code.function->name, site.arguments.size(), site.returns.size(),
                                    code.parameters.size(), code.results.size());
      block.context().fault(w, insn, std::countr_zero(active), std::move(finding));
      return false;
    }
    uint32_t top = frame->local_frame + frame->code->local_bytes;
    for (Mask m = frame->tops != nullptr ? active : 0; m != 0; m &= m - 1) top = std::max(top, (*frame->tops)[std::countr_zero(m)]);
    const uint32_t local = (top + 15) / 16 * 16;
    if (frame->depth >= kMaxDepth || s.frame_bytes > kMaxFrameBytes || uint64_t{local} + code.local_bytes > w.local_stride) {
      Finding finding;
      finding.kind = Finding::Kind::kStackOverflow;
      finding.message = fmt::format("the call of '{}' at depth {} needs {} bytes of stack per thread; there are {}",
                                    code.function->name, frame->depth + 1, uint64_t{local} + code.local_bytes, w.local_stride);
      block.context().fault(w, insn, std::countr_zero(active), std::move(finding));
      return false;
    }
    Frame* inner = new_frame(s, code, block.counts_for(code));
    inner->parent = frame;
    inner->return_pc = pc + 1;
    inner->call = &insn;
    inner->site = &site;
    inner->local_frame = local;
    inner->depth = frame->depth + 1;
    inner->lanes = active;
    s.deepest_local = std::max(s.deepest_local, local + code.local_bytes);
    pass_values(w, *frame, *inner, site.arguments, code.parameters, true, active);
    add_fragment(s, inner, 0, active);
    return true;
  }

  void leave_call(Mask active) {
    Frame* outer = frame->parent;
    pass_values(w, *outer, *frame, frame->site->returns, frame->code->results, false, active);
    add_fragment(s, outer, frame->return_pc, active);
    frame->lanes &= ~active;
    if (frame->lanes == 0) release_frame(s, frame);
  }

  // The terminator at `pc`. Leaves lanes == 0 when the fragment was turned into others; true to go on.
  bool terminate(const Insn& insn) {
    const Mask active = guard_lanes(w, insn, lanes);
    if (active == 0) { ++pc; return true; }
    w.exec = active;
    switch (static_cast<Terminator>(insn.aux)) {
      case Terminator::kBranch:
        if (active == lanes) { pc = insn.target; return true; }
        ++frame->counts->divergent_branches;
        if (insn.target == pc + 1) { ++pc; return true; }
        add_fragment(s, frame, std::max(insn.target, pc + 1), insn.target > pc + 1 ? active : lanes & ~active);
        lanes = insn.target > pc + 1 ? lanes & ~active : active;
        pc = std::min(insn.target, pc + 1);
        return true;
      case Terminator::kBranchIndexed: {
        const uint32_t* index = w.reg<uint32_t>(insn.op[0]);
        const auto& table = frame->code->branch_tables[insn.imm];
        if (active != lanes) add_fragment(s, frame, pc + 1, lanes & ~active);
        Mask left = active;
        while (left != 0) {
          const int lane = std::countr_zero(left);
          Mask same = 0;
          for (Mask m = left; m != 0; m &= m - 1) {
            if (index[std::countr_zero(m)] == index[lane]) same |= m & -m;
          }
          if (index[lane] >= table.size()) {
            Finding finding;
            finding.kind = Finding::Kind::kInvalidOperand;
            finding.message = fmt::format("brx.idx with index {} of a table of {} targets", index[lane], table.size());
            block.context().fault(w, insn, lane, std::move(finding));
            return false;
          }
          if (same == lanes) { pc = table[index[lane]]; return true; }
          add_fragment(s, frame, table[index[lane]], same);
          left &= ~same;
        }
        ++frame->counts->divergent_branches;
        lanes = 0;
        return true;
      }
      case Terminator::kCall: {
        Mask called = active;
        if (!call(insn, called)) return false;
        const CallSite& site = *frame->code->calls[insn.imm];
        if (site.system != CallSite::System::kNone) { ++pc; return true; }
        if ((active & ~called) != 0) {
          // Other targets of the same indirect call: the instruction runs again for them.
          add_fragment(s, frame, pc, active & ~called);
        }
        if ((lanes & ~active) != 0) add_fragment(s, frame, pc + 1, lanes & ~active);
        lanes = 0;
        return true;
      }
      case Terminator::kReturn:
        if (frame->parent == nullptr) break;
        if (active != lanes) add_fragment(s, frame, pc + 1, lanes & ~active);
        leave_call(active);
        lanes = 0;
        return true;
      case Terminator::kExit:
        break;
      case Terminator::kBarrier: {
        const BarrierBits bits = BarrierBits::decode(insn.imm);
        if (active != lanes) add_fragment(s, frame, pc + 1, lanes & ~active);
        if (bits.aligned && active != w.live) {
          partial(pc, -1, active);   // it runs again
          park(Fragment::State::kConverge, active, pc, w.live);
          lanes = 0;
          return true;
        }
        s.fragments.push_back({frame, pc, active, Fragment::State::kBarrier, 0, 0, ++s.stamp});
        lanes = 0;
        block.arrive(s, insn, active);
        return !block.context().stopped;
      }
      case Terminator::kYield:   // nanosleep
      {
        uint32_t longest = 0;
        for (Mask m = active; m != 0; m &= m - 1) longest = std::max(longest, w.reg<uint32_t>(insn.op[0])[std::countr_zero(m)]);
        block.sleep(longest);
        ++pc;
        return true;
      }
    }
    // exit
    const Mask rest = lanes & ~active;
    if (rest != 0) add_fragment(s, frame, pc + 1, rest);
    lanes = 0;
    exit_lanes(active);
    return true;
  }

  Turn run(uint64_t quantum);
  bool pick();
  bool rotate();
  bool meet();
  void count_entry(const BasicBlock& bb, uint32_t b);
  void interrupt(const BasicBlock& bb, uint32_t stop);
  void put_back() {
    if (lanes != 0) add_fragment(s, frame, pc, lanes);
    lanes = 0;
  }
};

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
    park(Fragment::State::kConverge, waiting, stop, w.needed);
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
        if (pc < bb.end && s.steps >= quantum) {   // a loop went round
          put_back();
          return Turn::kYielded;
        }
      }
      if (!s.fragments.empty() && !meet()) break;
    }
    put_back();
  }
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
