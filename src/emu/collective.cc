#include "emu/collective.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "emu/block.h"
#include "emu/function_lowering.h"

namespace kw::emu {
namespace {

constexpr unsigned kOperands = 6;                 // op[0 … 3], more[0 … 1]
constexpr unsigned kNoOperand = 15;
constexpr uint32_t kMarker = 0xc0000000u;
constexpr size_t kSlotBytes = kLanes * 8;         // the widest operand

// Insn::aux of a collective: a nibble per operand (bytes per lane, 0 = predicate), then the membermask's number.
unsigned width(const Insn& insn, unsigned k) { return insn.aux >> (4 * k) & 15; }
unsigned members_of(const Insn& insn) { return insn.aux >> 24 & 15; }

uint32_t operand(const Insn& insn, unsigned k) { return k < 4 ? insn.op[k] : insn.more[k - 4]; }
bool is_result(const Insn& insn, unsigned k) { return k < 4 ? (insn.op_defs >> k & 1) != 0 : k - 4 < insn.more_defs; }

bool is_collective(const Insn& insn) {
  return (insn.instruction_class == Counters::kWarpVote || insn.instruction_class == Counters::kBarrier) &&
         !insn.ends_block && (insn.aux & 0xf0000000u) == kMarker;
}

bool same_operation(const Insn& a, const Insn& b) {
  return a.masked == b.masked && a.aux == b.aux && a.imm == b.imm && a.more_defs == b.more_defs;
}

// Lanes of one fragment that take part.
struct Part {
  Frame* frame = nullptr;
  uint32_t pc = 0;
  Mask lanes = 0;
  const Insn& insn() const { return frame->code->insns[pc]; }
};

void copy_lanes(uint8_t* to, const uint8_t* from, unsigned bytes, Mask lanes) {
  if (bytes == 0) {
    Mask old, value;
    std::memcpy(&old, to, sizeof old);
    std::memcpy(&value, from, sizeof value);
    value = (old & ~lanes) | (value & lanes);
    std::memcpy(to, &value, sizeof value);
    return;
  }
  for (Mask m = lanes; m != 0; m &= m - 1) {
    const auto at = static_cast<size_t>(std::countr_zero(m)) * bytes;
    std::memcpy(to + at, from + at, bytes);
  }
}

Mask lanes_naming(const Fragment& f, const Insn& insn, uint32_t mask) {
  const auto* members = reinterpret_cast<const uint32_t*>(f.frame->bank + operand(insn, members_of(insn)));
  Mask lanes = 0;
  for (Mask m = f.mask; m != 0; m &= m - 1) {
    if (members[std::countr_zero(m)] == mask) lanes |= m & -m;
  }
  return lanes;
}

// The operation once, for all parts: operands come from where each part keeps them, and results go back there.
void execute(WarpState& s, const std::vector<Part>& parts, Mask all) {
  alignas(64) uint8_t bank[kOperands * kSlotBytes] = {};
  const Insn& model = parts.front().insn();
  Insn insn = model;
  uint32_t more[kOperands - 4];
  insn.more = more;
  for (unsigned k = 0; k < kOperands; ++k) {
    if (width(model, k) == kNoOperand) continue;
    (k < 4 ? insn.op[k] : more[k - 4]) = static_cast<uint32_t>(k * kSlotBytes);
    for (const Part& part : parts) {
      if (!is_result(model, k)) copy_lanes(bank + k * kSlotBytes, part.frame->bank + operand(part.insn(), k), width(model, k), part.lanes);
    }
  }
  Warp warp = s.warp;
  warp.bank = bank;
  warp.exec = all;
  warp.interrupted = false;
  warp.gathered = true;
  insn.masked(warp, insn);
  KW_CHECK(!warp.interrupted);   // the group is complete
  for (unsigned k = 0; k < kOperands; ++k) {
    if (width(model, k) == kNoOperand || !is_result(model, k)) continue;
    for (const Part& part : parts) copy_lanes(part.frame->bank + operand(part.insn(), k), bank + k * kSlotBytes, width(model, k), part.lanes);
  }
}

// The lanes of a part have executed their instruction: they go on behind it.
void advance(WarpState& s, const Part& part) {
  for (size_t i = 0; i < s.fragments.size(); ++i) {
    Fragment& f = s.fragments[i];
    if (f.frame != part.frame || f.pc != part.pc || f.state != Fragment::State::kConverge) continue;
    f.mask &= ~part.lanes;
    if (f.mask == 0) s.fragments.erase(s.fragments.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  const Code& code = *part.frame->code;
  const auto count = [&](uint32_t at, int64_t sign) {
    auto& p = part.frame->counts->partial[at];
    p.entries += sign;
    p.lanes += sign * std::popcount(part.lanes);
  };
  count(part.pc, 1);
  if (part.pc + 1 < code.blocks[code.block_of[part.pc]].end) count(part.pc + 1, -1);
  ++s.steps;
  add_fragment(s, part.frame, part.pc + 1, part.lanes);
}

// A complete group that a lane of `fragment` waits in; empty when there is none.
std::vector<Part> complete_group(const WarpState& s, const Fragment& fragment, Mask& all) {
  const Insn& insn = fragment.frame->code->insns[fragment.pc];
  const auto* members = reinterpret_cast<const uint32_t*>(fragment.frame->bank + operand(insn, members_of(insn)));
  for (Mask left = fragment.mask; left != 0;) {
    const uint32_t mask = members[std::countr_zero(left)];
    left &= ~lanes_naming(fragment, insn, mask);
    std::vector<Part> parts;
    all = 0;
    for (const Fragment& f : s.fragments) {
      if (f.state != Fragment::State::kConverge) continue;
      const Insn& other = f.frame->code->insns[f.pc];
      if (!is_collective(other) || !same_operation(insn, other)) continue;
      if (const Mask lanes = lanes_naming(f, other, mask); lanes != 0) {
        parts.push_back({f.frame, f.pc, lanes});
        all |= lanes;
      }
    }
    if ((mask & s.warp.live & ~all) == 0) return parts;
  }
  return {};
}

}  // namespace

void mark_collective(Lowering& lowering, Insn& insn, unsigned members) {
  const auto& registers = lowering.function().registers;
  uint32_t aux = kMarker | members << 24;
  for (unsigned k = 0; k < kOperands; ++k) {
    const bool present = k < 4 ? ((insn.op_defs | insn.op_uses) >> k & 1) != 0 : k - 4 < insn.more_count;
    aux |= (present ? registers[operand(insn, k)].bytes : kNoOperand) << (4 * k);
  }
  insn.aux = aux;
}

void combine_collectives(WarpState& s) {
  for (size_t i = 0; i < s.fragments.size();) {
    const Fragment& f = s.fragments[i];
    Mask all = 0;
    std::vector<Part> parts;
    if (f.state == Fragment::State::kConverge && is_collective(f.frame->code->insns[f.pc])) parts = complete_group(s, f, all);
    if (parts.empty()) {
      ++i;
      continue;
    }
    execute(s, parts, all);
    for (const Part& part : parts) advance(s, part);
    i = 0;
  }
}

// ── Before a collective (warp.h) ────────────────────────────────────────────────────────────────────────────────

Mask begin_aligned_slow(Warp& warp, const Insn&) {
  if (warp.exec == warp.live) return warp.exec;
  warp.interrupted = true;
  warp.waiting = warp.exec;
  warp.needed = warp.live;
  warp.exec = 0;
  return 0;
}

Mask begin_collective(Warp& warp, const Insn& insn, const uint32_t* members) {
  if (warp.exec == kFull) {   // the usual: everybody, with one mask
    bool all = true;
    for (int i = 0; i < kLanes; ++i) all = all && members[i] == kFull;
    if (all) return kFull;
  }
  Mask ready = 0, waiting = 0, needed = 0;
  for (Mask left = warp.exec; left != 0;) {
    const int lane = std::countr_zero(left);
    Mask group = 0;
    for (Mask m = left; m != 0; m &= m - 1) {
      if (members[std::countr_zero(m)] == members[lane]) group |= m & -m;
    }
    left &= ~group;
    if ((group & ~members[lane]) != 0) {
      Finding finding;
      finding.kind = Finding::Kind::kInvalidOperand;
      finding.message = fmt::format("lane {} executes with the member mask {:#010x}, which does not contain it",
                                    std::countr_zero(group & ~members[lane]), members[lane]);
      warp.block->fault(warp, insn, std::countr_zero(group & ~members[lane]), std::move(finding));
      warp.exec = 0;
      return 0;
    }
    if ((members[lane] & warp.live & ~group) == 0) {
      ready |= group;
    } else {
      waiting |= group;
      needed |= members[lane] & warp.live;
    }
  }
  if (waiting != 0) {
    warp.interrupted = true;
    warp.waiting = waiting;
    warp.needed = needed;
  }
  warp.exec = ready;
  return ready;
}

}  // namespace kw::emu
