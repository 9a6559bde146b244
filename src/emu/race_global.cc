// Races in global memory between the warps of one block: the shadow has what was last done to each unit.
#include "emu/lane_addresses.h"
#include "emu/race.h"
#include "emu/race_finding.h"

namespace kw::emu {

void BlockRaces::touch_units(Current& current, uint64_t begin, uint64_t end, bool writes, uint32_t value) {
  const uint32_t self = current.warp.index;
  units_.for_units(begin, end, [&](UnitShadow<uint32_t>::Unit& unit, uint64_t at, uint32_t unit_bytes) {
    const auto compare = [&](uint32_t with) {
      if (is_candidate(with, self, current.partial)) check(current, with, at, at + unit_bytes);
    };
    compare(unit.write);
    if (writes) {
      compare(unit.first_read);
      compare(unit.last_read);
      unit.write = value;
    } else if (unit.first_read < floor_ || (unit.first_read & 31) == self) {
      unit.first_read = value;
    } else {
      unit.last_read = value;
    }
  });
}

void BlockRaces::global(Warp& warp, const Insn& insn, SiteRef site, Access how, const uint64_t* addresses, Mask lanes,
                        unsigned bytes) {
  const uint32_t self = warp.index;
  const bool partial = lanes != warp.live && how != Access::kAsyncRead;
  if (!partial && diverged_[self]) ++clock_[self];
  diverged_[self] = partial;
  Current current{warp, insn, addresses, lanes, bytes, ptx::Space::kGlobal, how, site, partial};
  if ((site.flags & kStrong) != 0) synchronise(current);
  const bool writes = is_write(how);
  const bool consecutive = are_consecutive(addresses, lanes, bytes);
  const uint32_t value = log(current, consecutive);
  if (!consecutive && how == Access::kWrite) check_same_instruction(current);
  for_runs(addresses, lanes, bytes, [&](int, uint64_t begin, uint64_t end) {
    touch_units(current, begin, end, writes, value);
  });
}

}  // namespace kw::emu
