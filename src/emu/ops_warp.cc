// Instructions by which the lanes of a warp exchange values: vote, match, redux, elect, activemask, bar.warp.sync
// (PTX ISA 9.7.13); shuffles are in ops_shuffle.cc. The forms without .sync ended with sm_70.
#include <bit>
#include <cstring>

#include "emu/form.h"
#include "emu/member_groups.h"

namespace kw::emu {
namespace {

using Kind = ptx::Operand::Kind;

inline void fill(uint32_t* d, Mask lanes, uint32_t value) {
  if (lanes == kFull) {
    for (int lane = 0; lane < kLanes; ++lane) d[lane] = value;
  } else {
    for_lanes(lanes, [&](int lane) { d[lane] = value; });
  }
}

// ── vote ─────────────────────────────────────────────────────────────────────────────────────────────────
// op: d, predicate, membermask.

enum class Vote : uint8_t { kAll, kAny, kUniform, kBallot };

template <Vote kMode>
void vote(Warp& warp, const Insn& insn) {
  const uint32_t* const members = warp.reg<uint32_t>(insn.op[2]);
  const Mask here = begin_groups(warp, insn, members);
  if (here == 0) return;
  const Mask asked = warp.pred(insn.op[1]);
  Mask answers = 0;
  for_groups(here, members, [&](Mask group) {
    const Mask yes = asked & group;
    if constexpr (kMode == Vote::kBallot) {
      fill(warp.reg<uint32_t>(insn.op[0]), group, yes);
    } else if (kMode == Vote::kAll ? yes == group : kMode == Vote::kAny ? yes != 0 : yes == 0 || yes == group) {
      answers |= group;
    }
  });
  if constexpr (kMode != Vote::kBallot) {
    Mask& p = warp.pred(insn.op[0]);
    p = (p & ~here) | answers;
  }
}

Status lower_vote(Lowering& lowering) {
  Form form(lowering.instruction());
  static constexpr Handler kHandlers[] = {&vote<Vote::kAll>, &vote<Vote::kAny>, &vote<Vote::kUniform>,
                                          &vote<Vote::kBallot>};
  const bool sync = form.take("sync");
  const int mode = form.take_one_of({"all", "any", "uni", "ballot"});
  const bool ballot = mode == 3;
  if (!sync || mode < 0 || !form.take(ballot ? "b32" : "pred") || !form.done()) return lowering.unsupported();
  if (lowering.operand_count() != 3) return lowering.invalid("takes d, a predicate, membermask");
  KW_TRY(const Vreg asked, use_condition(lowering, lowering.operand(1)));
  KW_TRY(const Vreg members, lowering.use(lowering.operand(2), 4));
  Vreg to = kNone;
  if (ballot) {
    KW_TRY(to, lowering.def(lowering.operand(0), 4));
  } else {
    KW_TRY(to, lowering.def_predicate(lowering.operand(0)));
  }
  Insn& insn = lowering.emit(kHandlers[mode], kHandlers[mode], Counters::kWarpVote);
  insn.op[0] = to;
  insn.op[1] = asked;
  insn.op[2] = members;
  insn.op_defs = 1;
  insn.op_uses = 0b110;
  mark_collective(lowering, insn, 2);
  return {};
}

// ── match ────────────────────────────────────────────────────────────────────────────────────────────────
// op: d, a, membermask; more: [p].

template <typename T, bool kAll>
void match(Warp& warp, const Insn& insn) {
  const uint32_t* const members = warp.reg<uint32_t>(insn.op[2]);
  const Mask here = begin_groups(warp, insn, members);
  if (here == 0) return;
  const T* const a = warp.reg<T>(insn.op[1]);
  alignas(32) uint32_t result[kLanes] = {};
  Mask unanimous = 0;
  for_groups(here, members, [&](Mask group) {
    for (Mask left = group; left != 0;) {
      const T value = a[std::countr_zero(left)];
      alignas(32) uint32_t equal[kLanes];
      for (int lane = 0; lane < kLanes; ++lane) equal[lane] = a[lane] == value ? ~0u : 0u;
      const Mask same = pack_mask(equal) & left;
      if (kAll && same != group) break;   // d stays 0
      for_lanes(same, [&](int lane) { result[lane] = same; });
      if (kAll) unanimous |= group;
      left &= ~same;
    }
  });
  uint32_t* const d = warp.reg<uint32_t>(insn.op[0]);
  for_lanes(here, [&](int lane) { d[lane] = result[lane]; });
  if (insn.more_defs != 0) {
    Mask& p = warp.pred(insn.more[0]);
    p = (p & ~here) | unanimous;
  }
}

Status lower_match(Lowering& lowering) {
  Form form(lowering.instruction());
  const bool sync = form.take("sync");
  const int mode = form.take_one_of({"any", "all"});
  const int width = form.take_one_of({"b32", "b64"});
  if (!sync || mode < 0 || width < 0 || !form.done()) return lowering.unsupported();
  if (lowering.operand_count() != 3) return lowering.invalid("takes d|p, a, membermask");
  KW_TRY(const Vreg value, lowering.use(lowering.operand(1), width == 0 ? 4 : 8));
  KW_TRY(const Vreg members, lowering.use(lowering.operand(2), 4));
  if (mode == 0 && lowering.operand(0).kind == Kind::kPair) return lowering.invalid("match.any has no predicate result");
  KW_TRY(const Destination to, define_pair(lowering, lowering.operand(0)));
  const Handler handler = width == 0 ? (mode == 0 ? &match<uint32_t, false> : &match<uint32_t, true>)
                                     : (mode == 0 ? &match<uint64_t, false> : &match<uint64_t, true>);
  Insn& insn = lowering.emit(handler, handler, Counters::kWarpVote);
  insn.op[0] = to.value;
  insn.op[1] = value;
  insn.op[2] = members;
  insn.op_defs = 1;
  insn.op_uses = 0b110;
  if (to.predicate != kNone) lowering.set_more(insn, std::span<const Vreg>(&to.predicate, 1), {});
  mark_collective(lowering, insn, 2);
  return {};
}

// ── redux ────────────────────────────────────────────────────────────────────────────────────────────────
// op: d, a, membermask.

struct Add { uint32_t operator()(uint32_t x, uint32_t y) const { return x + y; } };
struct And { uint32_t operator()(uint32_t x, uint32_t y) const { return x & y; } };
struct Or { uint32_t operator()(uint32_t x, uint32_t y) const { return x | y; } };
struct Xor { uint32_t operator()(uint32_t x, uint32_t y) const { return x ^ y; } };
template <typename T, bool kMin>
struct Extreme {
  uint32_t operator()(uint32_t x, uint32_t y) const {
    const bool less = static_cast<T>(x) < static_cast<T>(y);
    return less == kMin ? x : y;
  }
};

template <typename Combine>
void reduce(Warp& warp, const Insn& insn) {
  const uint32_t* const members = warp.reg<uint32_t>(insn.op[2]);
  const Mask here = begin_groups(warp, insn, members);
  if (here == 0) return;
  const uint32_t* const a = warp.reg<uint32_t>(insn.op[1]);
  uint32_t* const d = warp.reg<uint32_t>(insn.op[0]);
  for_groups(here, members, [&](Mask group) {
    uint32_t sum = a[std::countr_zero(group)];
    if (group == kFull) {
      for (int lane = 1; lane < kLanes; ++lane) sum = Combine{}(sum, a[lane]);
    } else {
      for_lanes(group & (group - 1), [&](int lane) { sum = Combine{}(sum, a[lane]); });
    }
    fill(d, group, sum);
  });
}

Status lower_redux(Lowering& lowering) {
  Form form(lowering.instruction());
  const bool sync = form.take("sync");
  const int op = form.take_one_of({"add", "min", "max", "and", "or", "xor"});
  const int type = form.take_one_of({"u32", "s32", "b32"});
  if (!sync || op < 0 || type < 0 || !form.done() || (op >= 3) != (type == 2)) return lowering.unsupported();
  if (lowering.operand_count() != 3) return lowering.invalid("takes d, a, membermask");
  const bool is_signed = type == 1;
  static constexpr Handler kHandlers[] = {&reduce<Add>, nullptr, nullptr, &reduce<And>, &reduce<Or>, &reduce<Xor>};
  Handler handler = kHandlers[op];
  if (op == 1) handler = is_signed ? &reduce<Extreme<int32_t, true>> : &reduce<Extreme<uint32_t, true>>;
  if (op == 2) handler = is_signed ? &reduce<Extreme<int32_t, false>> : &reduce<Extreme<uint32_t, false>>;
  KW_TRY(const Vreg value, lowering.use(lowering.operand(1), 4));
  KW_TRY(const Vreg members, lowering.use(lowering.operand(2), 4));
  KW_TRY(const Vreg to, lowering.def(lowering.operand(0), 4));
  Insn& insn = lowering.emit(handler, handler, Counters::kWarpVote);
  insn.op[0] = to;
  insn.op[1] = value;
  insn.op[2] = members;
  insn.op_defs = 1;
  insn.op_uses = 0b110;
  mark_collective(lowering, insn, 2);
  return {};
}

// ── elect, activemask, bar.warp.sync ─────────────────────────────────────────────────────────────────────

// op: d, membermask; more: p. The lowest lane of the group leads.
void elect(Warp& warp, const Insn& insn) {
  const uint32_t* const members = warp.reg<uint32_t>(insn.op[1]);
  const Mask here = begin_groups(warp, insn, members);
  if (here == 0) return;
  uint32_t* const d = warp.reg<uint32_t>(insn.op[0]);
  Mask leaders = 0;
  for_groups(here, members, [&](Mask group) {
    leaders |= group & -group;
    fill(d, group, static_cast<uint32_t>(std::countr_zero(group)));
  });
  Mask& p = warp.pred(insn.more[0]);
  p = (p & ~here) | leaders;
}

Status lower_elect(Lowering& lowering) {
  Form form(lowering.instruction());
  if (!form.take("sync") || !form.done()) return lowering.unsupported();
  if (lowering.operand_count() != 2 || lowering.operand(0).kind != Kind::kPair)
    return lowering.invalid("takes d|p, membermask");
  KW_TRY(const Vreg members, lowering.use(lowering.operand(1), 4));
  KW_TRY(const Destination to, define_pair(lowering, lowering.operand(0)));
  Insn& insn = lowering.emit(&elect, &elect, Counters::kWarpVote);
  insn.op[0] = to.value;
  insn.op[1] = members;
  insn.op_defs = 1;
  insn.op_uses = 0b10;
  lowering.set_more(insn, std::span<const Vreg>(&to.predicate, 1), {});
  mark_collective(lowering, insn, 1);
  return {};
}

void active_mask(Warp& warp, const Insn& insn) {
  uint32_t* const d = warp.reg<uint32_t>(insn.op[0]);
  for_lanes(warp.exec, [&](int lane) { d[lane] = warp.exec; });
}

Status lower_active_mask(Lowering& lowering) {
  Form form(lowering.instruction());
  if (!form.take("b32") || !form.done()) return lowering.unsupported();
  if (lowering.operand_count() != 1) return lowering.invalid("takes one destination");
  KW_TRY(const Vreg to, lowering.def(lowering.operand(0), 4));
  Insn& insn = lowering.emit(&active_mask, &active_mask, Counters::kWarpVote);
  insn.op[0] = to;
  insn.op_defs = 1;
  return {};
}

void warp_barrier(Warp& warp, const Insn& insn) { begin_groups<true>(warp, insn, warp.reg<uint32_t>(insn.op[0])); }

Status lower_warp_barrier(Lowering& lowering) {
  Form form(lowering.instruction());
  if (!form.take("warp") || !form.take("sync") || !form.done()) return lowering.unsupported();
  if (lowering.operand_count() != 1) return lowering.invalid("takes a membermask");
  KW_TRY(const Vreg members, lowering.use(lowering.operand(0), 4));
  Insn& insn = lowering.emit(&warp_barrier, &warp_barrier, Counters::kBarrier);
  insn.op[0] = members;
  insn.op_uses = 1;
  mark_collective(lowering, insn, 0);
  return {};
}

constexpr OpEntry kTable[] = {
    {"vote", nullptr, &lower_vote},
    {"match", nullptr, &lower_match},
    {"redux", nullptr, &lower_redux},
    {"elect", nullptr, &lower_elect},
    {"activemask", nullptr, &lower_active_mask},
    {"bar", [](const ptx::Instruction& instruction) { return instruction.has("warp"); }, &lower_warp_barrier},
};

}  // namespace

std::span<const OpEntry> warp_ops() { return kTable; }

}  // namespace kw::emu
