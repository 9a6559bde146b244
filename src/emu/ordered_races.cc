#include "emu/ordered_races.h"

#include <algorithm>
#include <bit>

#include "emu/memory_access.h"

namespace kw::emu {
namespace {

// block (12 bits), clock (22), site (18), warp (5), lane (5), strong (1); 0 = none since clocks begin at 1.
constexpr uint32_t kMaxClock = (1u << 22) - 1;
uint64_t pack(uint32_t block, uint32_t clock, uint32_t site, uint32_t warp, int lane, bool strong) {
  return uint64_t{block} << 51 | uint64_t{clock} << 29 | uint64_t{site & (kMaxSites - 1)} << 11 | uint64_t{warp} << 6 |
         static_cast<uint64_t>(lane) << 1 | static_cast<uint64_t>(strong);
}
uint32_t block_of(uint64_t value) { return static_cast<uint32_t>(value >> 51); }
uint32_t clock_of(uint64_t value) { return static_cast<uint32_t>(value >> 29) & kMaxClock; }

}  // namespace

OrderedRaces::OrderedRaces(const SiteTable& sites, const Launch& launch) : sites_(sites), launch_(launch) {
  const uint64_t blocks = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  active_ = blocks > 1 && blocks <= kMaxBlocks;
  if (active_) agents_.resize(blocks);
}

void OrderedRaces::join(VectorClock& into, const VectorClock& from) const {
  if (from.empty()) return;
  if (into.empty()) into.resize(agents_.size(), 0);
  for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

OrderedRaces::VectorClock OrderedRaces::released(uint32_t block) {
  any_order_ = true;
  Agent& agent = agents_[block];
  VectorClock all = agent.view;
  if (all.empty()) all.resize(agents_.size(), 0);
  agent.clock = std::min(agent.clock + 1, kMaxClock);
  all[block] = agent.clock;
  return all;
}

void OrderedRaces::fence(const BlockContext& block) {
  if (!active_) return;
  const auto b = static_cast<uint32_t>(block.linear_index);
  Agent& agent = agents_[b];
  join(agent.view, agent.to_acquire);
  agent.fenced = released(b);
  agent.has_fenced = true;
}

void OrderedRaces::synchronise(uint32_t block, uint8_t flags, Access how, const uint64_t* addresses, Mask lanes) {
  if ((flags & (kAcquire | kRelease)) == 0 && !any_order_) return;
  Agent& agent = agents_[block];
  const bool update = how == Access::kAtomic, reads = update || how == Access::kRead;
  for_lanes(lanes, [&](int i) {
    const auto found = objects_.find(addresses[i]);
    if (reads && found != objects_.end()) {
      join((flags & kAcquire) != 0 ? agent.view : agent.to_acquire, found->second);
    }
    if (!update && reads) return;
    const bool release = (flags & kRelease) != 0;
    if (!release && !agent.has_fenced) {
      if (!update && found != objects_.end()) objects_.erase(found);
      return;
    }
    const VectorClock given = release ? released(block) : agent.fenced;
    if (update) {
      join(objects_[addresses[i]], given);
    } else {
      objects_[addresses[i]] = given;
    }
  });
}

bool OrderedRaces::races(uint64_t other, uint32_t block, bool strong) const {
  if (other == 0 || block_of(other) == block) return false;
  if (strong && (other & 1) != 0) return false;
  const VectorClock& view = agents_[block].view;
  const uint32_t clock = clock_of(other);
  return clock < kMaxClock && (view.empty() || view[block_of(other)] <= clock);
}

void OrderedRaces::report(Warp& warp, const Insn& insn, int lane, uint64_t address, unsigned bytes, Access how,
                          uint64_t other, const char* did) {
  Finding finding;
  finding.kind = Finding::Kind::kRace;
  finding.space = ptx::Space::kGlobal;
  finding.address = address;
  finding.bytes = bytes;
  if (const Allocation* const holder = warp.block->memory->find(address)) {
    finding.object = holder->label;
    finding.object_offset = static_cast<int64_t>(address - holder->begin);
  }
  const char* const does = how == Access::kAtomic ? "updates atomically" : how == Access::kWrite || how == Access::kMatrixWrite ? "writes" : "reads";
  finding.message = fmt::format("block {} {} offset {} of '{}' that block {} {}, with no release and acquire between",
                                warp.block->linear_index, does, finding.object_offset, finding.object, block_of(other), did);
  finding.other = party_at(sites_, launch_, static_cast<uint32_t>(other >> 11) & (kMaxSites - 1), block_of(other),
                           static_cast<uint32_t>(other >> 6 & 31), static_cast<uint32_t>(other >> 1 & 31));
  warp.block->report(warp, insn, lane, std::move(finding));
}

void OrderedRaces::access(Warp& warp, const Insn& insn, uint32_t site, uint8_t flags, Access how,
                          const uint64_t* addresses, Mask lanes, unsigned bytes) {
  if (!active_) return;
  const auto block = static_cast<uint32_t>(warp.block->linear_index);
  const bool strong = ((flags & kStrong) != 0 || how == Access::kAtomic) && (flags & kBlockScope) == 0;
  if (strong) synchronise(block, flags, how, addresses, lanes);
  const bool writes = how == Access::kWrite || how == Access::kMatrixWrite || how == Access::kAtomic;
  for (Mask rest = lanes; rest != 0;) {
    const int lane = std::countr_zero(rest);
    uint64_t begin = addresses[lane], end = begin;
    while (rest != 0 && addresses[std::countr_zero(rest)] == end) {
      end += bytes;
      rest &= rest - 1;
    }
    const uint64_t value = pack(block, agents_[block].clock, site, warp.index, lane, strong);
    const uint8_t needed = (begin | end) % 32 == 0 ? 5 : (begin | end) % 4 == 0 ? 2 : 0;
    while (begin < end) {
      const uint64_t number = begin / 4096, stop = std::min(end, (number + 1) * 4096);
      Page& page = pages_[number];
      if (page.units.empty()) {
        page.shift = needed;
        page.units.resize(4096u >> needed);
      } else if (page.shift > needed) {
        const unsigned split = 1u << (page.shift - needed);
        std::vector<Unit> finer;
        finer.reserve(page.units.size() * split);
        for (const Unit& unit : page.units) finer.insert(finer.end(), split, unit);
        page.units = std::move(finer);
        page.shift = needed;
      }
      const uint32_t step = 1u << page.shift;
      for (uint64_t at = begin; at < stop; at += step) {
        Unit& unit = page.units[(at & 4095) >> page.shift];
        if (races(unit.write, block, strong)) report(warp, insn, lane, at, step, how, unit.write, "wrote");
        if (writes) {
          if (races(unit.first_read, block, strong)) {
            report(warp, insn, lane, at, step, how, unit.first_read, "read");
          } else if (races(unit.last_read, block, strong)) {
            report(warp, insn, lane, at, step, how, unit.last_read, "read");
          }
          unit.write = value;
        } else if (unit.first_read == 0 || block_of(unit.first_read) == block) {
          unit.first_read = value;
        } else {
          unit.last_read = value;
        }
      }
      begin = stop;
    }
  }
}

}  // namespace kw::emu
