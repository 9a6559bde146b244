// shfl (PTX ISA 9.7.9.6). The form without .sync ended with sm_70.
#include "emu/form.h"
#include "emu/member_groups.h"

namespace kw::emu {
namespace {

// op: d, a, b, c; more: [p], membermask.

enum class Shuffle : uint8_t { kUp, kDown, kButterfly, kIndex };

template <Shuffle kMode>
void shuffle(Warp& warp, const Insn& insn) {
  const bool with_predicate = insn.more_defs != 0;
  const uint32_t* const members = warp.reg<uint32_t>(insn.more[insn.more_defs]);
  const Mask here = begin_groups(warp, insn, members);
  if (here == 0) return;
  alignas(32) uint32_t value[kLanes];
  alignas(32) int32_t source[kLanes];
  alignas(32) uint32_t valid[kLanes];
  std::memcpy(value, warp.reg<uint32_t>(insn.op[1]), sizeof value);
  const uint32_t* const b = warp.reg<uint32_t>(insn.op[2]);
  const uint32_t* const c = warp.reg<uint32_t>(insn.op[3]);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int32_t distance = static_cast<int32_t>(b[lane] & 31u), clamp = static_cast<int32_t>(c[lane] & 31u);
    const int32_t segment = static_cast<int32_t>(c[lane] >> 8 & 31u);
    const int32_t low = lane & segment;                       // first lane of the segment
    const int32_t limit = low | (clamp & ~segment);
    int32_t from;
    bool inside;
    if constexpr (kMode == Shuffle::kUp) {
      from = lane - distance;
      inside = from >= limit;
    } else {
      from = kMode == Shuffle::kDown        ? lane + distance
             : kMode == Shuffle::kButterfly ? (lane ^ distance)
                                            : (low | (distance & ~segment));
      inside = from <= limit;
    }
    source[lane] = inside ? from : lane;
    valid[lane] = inside;
  }
  uint32_t* const d = warp.reg<uint32_t>(insn.op[0]);
  if (here == kFull) {
    for (int lane = 0; lane < kLanes; ++lane) d[lane] = value[source[lane] & 31];
  } else {
    for_lanes(here, [&](int lane) {
      // What a lane outside the group gives is undefined; as on hardware, its value when it executes too, else 0.
      const uint32_t from = static_cast<uint32_t>(source[lane]) & 31u;
      d[lane] = here >> from & 1u ? value[from] : 0;
    });
  }
  if (with_predicate) {
    Mask bits = 0;
    for (int lane = 0; lane < kLanes; ++lane) bits |= valid[lane] << lane;
    Mask& p = warp.pred(insn.more[0]);
    p = (p & ~here) | (bits & here);
  }
}

Status lower_shfl(Lowering& lowering) {
  Form form(lowering.instruction());
  static constexpr Handler kHandlers[] = {&shuffle<Shuffle::kUp>, &shuffle<Shuffle::kDown>,
                                          &shuffle<Shuffle::kButterfly>, &shuffle<Shuffle::kIndex>};
  const bool sync = form.take("sync");
  const int mode = form.take_one_of({"up", "down", "bfly", "idx"});
  if (!sync || mode < 0 || !form.take("b32") || !form.done()) return lowering.unsupported();
  if (lowering.operand_count() != 5) return lowering.invalid("takes d|p, a, b, c, membermask");
  Vreg sources[4];
  for (size_t i = 0; i < 4; ++i) {
    KW_TRY(sources[i], lowering.use(lowering.operand(i + 1), 4));
  }
  KW_TRY(const Destination to, define_pair(lowering, lowering.operand(0)));
  Insn& insn = lowering.emit(kHandlers[mode], kHandlers[mode], Counters::kWarpVote);
  insn.op[0] = to.value;
  for (size_t i = 0; i < 3; ++i) insn.op[i + 1] = sources[i];
  insn.op_defs = 1;
  insn.op_uses = 0b1110;
  lowering.set_more(insn, std::span<const Vreg>(&to.predicate, to.predicate != kNone ? 1 : 0),
                    std::span<const Vreg>(&sources[3], 1));
  mark_collective(lowering, insn, 4 + insn.more_defs);
  return {};
}

constexpr OpEntry kTable[] = {{"shfl", nullptr, &lower_shfl}};

}  // namespace

std::span<const OpEntry> shuffle_ops() { return kTable; }

}  // namespace kw::emu
