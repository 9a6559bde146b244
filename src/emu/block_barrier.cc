// The sixteen barriers of a block: arrival, completion, reductions (PTX ISA 9.7.13.1).
#include <algorithm>
#include <bit>

#include "emu/block.h"
#include "emu/observer.h"
#include "emu/ops_control.h"

namespace kw::emu {

void Block::arrive(WarpState& s, const Insn& insn, Mask lanes) {
  Warp& w = s.warp;
  const int first = std::countr_zero(lanes);
  const BarrierBits bits = BarrierBits::decode(insn.imm);
  auto fault = [&](std::string message) {
    Finding finding;
    finding.kind = Finding::Kind::kInvalidOperand;
    finding.message = std::move(message);
    context_.fault(w, insn, first, std::move(finding));
  };
  const uint32_t id = w.reg<uint32_t>(insn.op[0])[first];
  if (id >= barriers_.size()) return fault(fmt::format("barrier {} does not exist; a block has 16, numbered from 0", id));
  uint32_t expected = 0;
  if (insn.op[1] != kNone) {
    expected = w.reg<uint32_t>(insn.op[1])[first];
    if (expected == 0 || expected % kLanes != 0) {
      return fault(fmt::format("barrier {} with {} threads; the count must be a positive multiple of {}", id, expected, kLanes));
    }
  }
  BarrierState& b = barriers_[id];
  if (b.active && b.expected != expected && b.expected != 0 && expected != 0) {
    return fault(fmt::format("barrier {} is waited for with {} threads here and with {} threads elsewhere", id, expected, b.expected));
  }
  if (!b.active) {
    b.active = true;
    b.popcount = 0;
    b.all = true;
    b.any = false;
  }
  if (expected != 0) b.expected = expected;
  if (!b.arrived && expected == 0) b.expected = 0;
  // A last warp that is not full counts as a whole one.
  const bool whole = expected != 0 && lanes == w.live;
  b.arrived += whole ? kLanes : static_cast<uint32_t>(std::popcount(lanes));
  b.arrived_lanes[w.index] |= lanes;
  if (id == 0 && insn.op[1] == kNone && bits.mode == BarrierMode::kSync) compare_sites(b, w, insn, first);
  Fragment& f = s.fragments.back();
  f.barrier = static_cast<uint8_t>(id);
  if (bits.mode == BarrierMode::kArrive) {
    const uint32_t next = f.pc + 1;
    Frame* frame = f.frame;
    s.fragments.pop_back();
    add_fragment(s, frame, next, lanes);
  } else {
    b.waiting_lanes[w.index] |= lanes;
    if (bits.mode != BarrierMode::kSync) {
      const Mask p = (bits.negated ? ~w.pred(insn.op[2]) : w.pred(insn.op[2])) & lanes;
      b.popcount += static_cast<uint32_t>(std::popcount(p));
      b.all = b.all && p == lanes;
      b.any = b.any || p != 0;
    }
  }
  if (b.arrived >= (b.expected != 0 ? b.expected : live_threads())) complete(id);
}

// PTX lets threads meet at one barrier from different instructions; for __syncthreads(), which is barrier 0 without a
// thread count, CUDA C++ does not: in conditional code the condition must be the same for the whole block.
void Block::compare_sites(BarrierState& b, Warp& warp, const Insn& insn, int lane) {
  if (b.site == nullptr) {
    b.site = &insn;
    b.site_warp = warp.index;
    b.site_lane = lane;
    return;
  }
  if (b.site == &insn) return;
  Finding finding;
  finding.kind = Finding::Kind::kBarrierDivergence;
  Warp& other = *context_.warps[b.site_warp];
  finding.other = context_.party(other, *b.site, b.site_lane);
  finding.message = fmt::format(
      "threads meet at different barriers: warp {} is at this __syncthreads() and warp {} at the one on line {}; CUDA C++ "
      "wants the whole block at the same one",
      warp.index, b.site_warp, finding.other->ptx_line);
  context_.report(warp, insn, lane, std::move(finding));
}

void Block::complete(uint32_t id) {
  BarrierState& b = barriers_[id];
  ++progress_;
  ++context_.counters.barriers;
  if (context_.observer != nullptr) {
    bool whole = true;
    for (const auto& s : warps_) whole = whole && (s->warp.live & ~b.waiting_lanes[s->warp.index]) == 0;
    context_.observer->barrier(context_, id, b.arrived_lanes, b.waiting_lanes, whole);
  }
  for (const auto& state : warps_) {
    if (b.waiting_lanes[state->warp.index] == 0) continue;
    for (Fragment& f : state->fragments) {
      if (f.state != Fragment::State::kBarrier || f.barrier != id) continue;
      const Insn& insn = f.frame->code->insns[f.pc];
      const BarrierBits bits = BarrierBits::decode(insn.imm);
      uint8_t* bank = f.frame->bank;
      if (bits.mode == BarrierMode::kPopcount) {
        uint32_t* to = reinterpret_cast<uint32_t*>(bank + insn.op[3]);
        for (Mask m = f.mask; m != 0; m &= m - 1) to[std::countr_zero(m)] = b.popcount;
      } else if (bits.mode == BarrierMode::kAnd || bits.mode == BarrierMode::kOr) {
        Mask* to = reinterpret_cast<Mask*>(bank + insn.op[3]);
        const bool value = bits.mode == BarrierMode::kAnd ? b.all : b.any;
        *to = (*to & ~f.mask) | (value ? f.mask : 0);
      }
      f.state = Fragment::State::kReady;
      ++f.pc;
      f.stamp = ++state->stamp;
    }
  }
  b.active = false;
  b.arrived = b.expected = 0;
  b.site = nullptr;
  std::fill(b.arrived_lanes.begin(), b.arrived_lanes.end(), 0);
  std::fill(b.waiting_lanes.begin(), b.waiting_lanes.end(), 0);
}

void Block::lanes_exited(WarpState&) {
  ++progress_;
  for (uint32_t id = 0; id < barriers_.size(); ++id) {
    BarrierState& b = barriers_[id];
    if (b.active && b.expected == 0 && b.arrived != 0 && b.arrived >= live_threads()) complete(id);
  }
}

}  // namespace kw::emu
