// Lanes that execute a collective together may name several disjoint groups (each lane its own membermask); every group
// is complete when its lanes run (begin_collective). Internal to emu; used by ops_warp.cc and ops_shuffle.cc.
#pragma once

#include <bit>

#include "emu/collective.h"
#include "emu/lane_addresses.h"
#include "emu/lowering.h"
#include "emu/observer.h"

namespace kw::emu {

// Every lane names this mask (the usual case, which the compiler checks eight lanes at a time).
inline bool all_name(const uint32_t* members, uint32_t mask) {
  uint32_t differences = 0;
  for (int lane = 0; lane < kLanes; ++lane) differences |= members[lane] ^ mask;
  return differences == 0;
}

// Waits for the groups and tells the observer; 0: not now. Only bar.warp.sync promises order in memory; after another
// collective, lanes of a warp that executed it all together are taken to stay in step (docs/design/checks.md).
template <bool kOrders = false>
inline Mask begin_groups(Warp& warp, const Insn& insn, const uint32_t* members) {
  const Mask here = warp.exec == kFull && all_name(members, kFull) ? kFull : begin_collective(warp, insn, members);
  if (here != 0 && warp.block->observer != nullptr && (kOrders || (here == warp.live && !warp.gathered))) {
    warp.block->observer->warp_sync(warp, here);
  }
  return here;
}

// f(lanes of a group that execute now), for each distinct membermask.
template <typename F>
inline void for_groups(Mask here, const uint32_t* members, F&& f) {
  if (all_name(members, members[0])) return f(here);
  while (here != 0) {
    const uint32_t mask = members[std::countr_zero(here)];
    Mask group = 0;
    for_lanes(here, [&](int lane) { group |= static_cast<Mask>(members[lane] == mask) << lane; });
    f(group);
    here &= ~group;
  }
}

// d|p, or d alone.
struct Destination {
  Vreg value = kNone, predicate = kNone;
};
inline Result<Destination> define_pair(Lowering& lowering, const ptx::Operand& operand) {
  Destination destination;
  const bool pair = operand.kind == ptx::Operand::Kind::kPair && operand.elements.size() == 2;
  KW_TRY(destination.value, lowering.def(pair ? operand.elements[0] : operand, 4));
  if (pair) {
    KW_TRY(destination.predicate, lowering.def_predicate(operand.elements[1]));
  }
  return destination;
}

}  // namespace kw::emu
