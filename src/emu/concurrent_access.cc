#include "emu/concurrent_access.h"

#include "emu/lane_addresses.h"
#include "emu/race_finding.h"
#include "emu/site_table.h"

namespace kw::emu {

void ConcurrentAccess::grid_dependency(bool wait) {
  if (wait) waited_ = true;
  else if (options_.footprint != nullptr) options_.footprint->let_dependents_start();
}

void ConcurrentAccess::access(Warp& warp, const Insn& insn, uint8_t site_flags, Access how, const uint64_t* addresses, Mask lanes,
                              unsigned bytes) {
  if (options_.footprint == nullptr && options_.concurrent.empty()) return;
  const bool strong = how == Access::kAtomic || ((site_flags & kStrong) != 0 && (site_flags & kBlockScope) == 0);
  const Footprint::Use use = strong ? Footprint::kUpdate : is_write(how) ? Footprint::kWrite : Footprint::kRead;
  for_runs(addresses, lanes, bytes, [&](int lane, uint64_t begin, uint64_t end) {
    if (options_.footprint != nullptr) options_.footprint->add(begin, end, use);
    for (const Concurrent& other : options_.concurrent) {
      if (other.until_wait && (waited_ || !other.footprint->lets_dependents_start())) continue;
      const auto clash = other.footprint->clash(begin, end, use);
      if (!clash) continue;
      std::string where;
      Finding finding = race_at(warp, ptx::Space::kGlobal, clash->address, bytes, where);
      finding.message = fmt::format("{} {} that {} {}{}", verb(how, false), where, other.name, verb_of(clash->use),
                                    other.until_wait ? ", before griddepcontrol.wait" : "; neither waits for the other");
      warp.block->report(warp, insn, lane, std::move(finding));
      break;
    }
  });
}

}  // namespace kw::emu
