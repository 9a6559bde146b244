// What ends a run of straight code, but for the branch: brx, call, ret, barriers, nanosleep, exit.
#include <algorithm>
#include <bit>

#include "emu/async_copy.h"
#include "emu/execution.h"
#include "emu/frame.h"
#include "emu/observer.h"
#include "emu/ops_control.h"

namespace kw::emu {
namespace {

constexpr uint32_t kMaxDepth = 4096;             // frames of a warp
constexpr uint64_t kMaxFrameBytes = 64u << 20;   // registers of a warp's calls

bool fault(Execution& e, const Insn& insn, int lane, Finding::Kind kind, std::string message, uint64_t address = 0) {
  Finding finding;
  finding.kind = kind;
  finding.address = address;
  finding.message = std::move(message);
  e.block.context().fault(e.w, insn, lane, std::move(finding));
  return false;
}

// The lanes of `lanes` that have the same value as the first of them.
template <typename T>
Mask same_as_first(const T* values, Mask lanes) {
  const T first = values[std::countr_zero(lanes)];
  Mask same = 0;
  for (Mask m = lanes; m != 0; m &= m - 1) {
    if (values[std::countr_zero(m)] == first) same |= m & -m;
  }
  return same;
}

// The function that the first lane calls indirectly; `active` becomes the lanes that call the same one. Null: faulted.
const Code* indirect_callee(Execution& e, const Insn& insn, const CallSite& site, Mask& active) {
  const uint64_t* handles = e.w.reg<uint64_t>(insn.op[0]);
  const int lane = std::countr_zero(active);
  const uint64_t handle = handles[lane];
  active = same_as_first(handles, active);
  const uint64_t index = (handle - kCodeWindow) / 16;
  if (handle < kCodeWindow || handle % 16 != 0 || index >= e.block.plan().program->functions.size() ||
      !e.block.plan().kernel->codes.contains(static_cast<uint32_t>(index))) {
    fault(e, insn, lane, Finding::Kind::kInvalidOperand,
          fmt::format("indirect call of {:#x}, which is not the address of a function", handle), handle);
    return nullptr;
  }
  const Code* const code = e.block.plan().kernel->codes.at(static_cast<uint32_t>(index)).get();
  if (code->parameters.size() != site.arguments.size() || code->results.size() != site.returns.size()) {
    fault(e, insn, lane, Finding::Kind::kInvalidOperand,
          fmt::format("indirect call of '{}' with {} arguments and {} results; it has {} and {}", code->function->name,
                      site.arguments.size(), site.returns.size(), code->parameters.size(), code->results.size()));
    return nullptr;
  }
  return code;
}

// A frame of `code` for the lanes `active`, ready to run. False: faulted.
bool enter_function(Execution& e, const Insn& insn, const CallSite& site, const Code& code, Mask active) {
  Frame& outer = *e.frame;
  uint32_t top = outer.local_frame + outer.code->local_bytes;
  for (Mask m = outer.tops != nullptr ? active : 0; m != 0; m &= m - 1) {
    top = std::max(top, (*outer.tops)[std::countr_zero(m)]);
  }
  const uint32_t local = (top + 15) / 16 * 16;
  const uint64_t stack = uint64_t{local} + code.local_bytes;
  if (outer.depth >= kMaxDepth || e.s.frame_bytes > kMaxFrameBytes || stack > e.w.local_stride) {
    return fault(e, insn, std::countr_zero(active), Finding::Kind::kStackOverflow,
                 fmt::format("the call of '{}' at depth {} needs {} bytes of stack per thread; there are {}",
                             code.function->name, outer.depth + 1, stack, e.w.local_stride));
  }
  Frame* const inner = new_frame(e.s, code, e.block.counts_for(code));
  inner->parent = &outer;
  inner->return_pc = e.pc + 1;
  inner->call = &insn;
  inner->site = &site;
  inner->local_frame = local;
  inner->depth = outer.depth + 1;
  inner->lanes = active;
  e.s.deepest_local = std::max(e.s.deepest_local, local + code.local_bytes);
  pass_values(e.w, outer, *inner, site.arguments, code.parameters, true, active);
  add_fragment(e.s, inner, 0, active);
  return true;
}

}  // namespace

void wait_to_converge(Execution& e, Mask mask, uint32_t at, Mask needed) {
  for (Fragment& f : e.s.fragments) {
    if (f.frame != e.frame || f.pc != at || f.state == Fragment::State::kBarrier) continue;
    f.mask |= mask;
    if (f.state == Fragment::State::kConverge) {
      f.needed |= needed;
      f.state = Fragment::State::kReady;   // looks again, now with more lanes
    }
    return;
  }
  e.s.fragments.push_back({e.frame, at, mask, Fragment::State::kConverge, 0, needed, ++e.s.stamp});
}

bool branch_indexed(Execution& e, const Insn& insn, Mask active) {
  const uint32_t* index = e.w.reg<uint32_t>(insn.op[0]);
  const auto& table = e.frame->code->branch_tables[insn.imm];
  if (active != e.lanes) add_fragment(e.s, e.frame, e.pc + 1, e.lanes & ~active);
  for (Mask left = active; left != 0;) {
    const int lane = std::countr_zero(left);
    const Mask same = same_as_first(index, left);
    if (index[lane] >= table.size()) {
      return fault(e, insn, lane, Finding::Kind::kInvalidOperand,
                   fmt::format("brx.idx with index {} of a table of {} targets", index[lane], table.size()));
    }
    if (same == e.lanes) {
      e.pc = table[index[lane]];
      return true;
    }
    add_fragment(e.s, e.frame, table[index[lane]], same);
    left &= ~same;
  }
  ++e.frame->counts->divergent_branches;
  e.lanes = 0;
  return true;
}

bool call_function(Execution& e, const Insn& insn, Mask active) {
  const CallSite& site = *e.frame->code->calls[insn.imm];
  if (site.system != CallSite::System::kNone) {
    if (!e.block.call_system(e.s, insn, site, active)) return false;
    ++e.pc;
    return true;
  }
  Mask called = active;
  const Code* const code = site.callee == kNone ? indirect_callee(e, insn, site, called)
                                                : e.block.plan().kernel->codes.at(site.callee).get();
  if (code == nullptr || !enter_function(e, insn, site, *code, called)) return false;
  // Other targets of the same indirect call: the instruction runs again for them.
  add_fragment(e.s, e.frame, e.pc, active & ~called);
  add_fragment(e.s, e.frame, e.pc + 1, e.lanes & ~active);
  e.lanes = 0;
  return true;
}

void return_from_call(Execution& e, Mask active) {
  Frame* const frame = e.frame;
  Frame* const outer = frame->parent;
  add_fragment(e.s, frame, e.pc + 1, e.lanes & ~active);
  pass_values(e.w, *outer, *frame, frame->site->returns, frame->code->results, false, active);
  add_fragment(e.s, outer, frame->return_pc, active);
  frame->lanes &= ~active;
  if (frame->lanes == 0) release_frame(e.s, frame);
  e.lanes = 0;
}

bool arrive_at_barrier(Execution& e, const Insn& insn, Mask active) {
  add_fragment(e.s, e.frame, e.pc + 1, e.lanes & ~active);
  e.lanes = 0;
  if (BarrierBits::decode(insn.imm).aligned && active != e.w.live) {
    e.partial(e.pc, -1, active);   // it runs again
    wait_to_converge(e, active, e.pc, e.w.live);
    return true;
  }
  e.s.fragments.push_back({e.frame, e.pc, active, Fragment::State::kBarrier, 0, 0, ++e.s.stamp});
  e.block.arrive(e.s, insn, active);
  return !e.block.context().stopped;
}

void sleep_for(Execution& e, const Insn& insn, Mask active) {
  const uint32_t* nanoseconds = e.w.reg<uint32_t>(insn.op[0]);
  uint32_t longest = 0;
  for (Mask m = active; m != 0; m &= m - 1) longest = std::max(longest, nanoseconds[std::countr_zero(m)]);
  e.block.sleep(longest);
  ++e.pc;
}

void exit_lanes(Execution& e, Mask active) {
  add_fragment(e.s, e.frame, e.pc + 1, e.lanes & ~active);
  e.lanes = 0;
  complete_async_copies(e.w, active);
  e.w.live &= ~active;
  for (Frame* f = e.frame; f != nullptr;) {
    Frame* const parent = f->parent;
    f->lanes &= ~active;
    if (f->lanes == 0 && f != &e.s.base) release_frame(e.s, f);
    f = parent;
  }
  for (Fragment& f : e.s.fragments) {
    if (f.state == Fragment::State::kConverge) f.state = Fragment::State::kReady;
  }
  e.block.lanes_exited(e.s);
}

}  // namespace kw::emu
