#include "emu/ordered_races.h"

#include <algorithm>
#include <bit>

#include "emu/lane_addresses.h"
#include "emu/race_finding.h"

namespace kw::emu {
namespace {

constexpr int kBlockAndClockBits = 34;
constexpr size_t kAlwaysFollowed = 4096;   // blocks: their clocks are not many bytes at once

}  // namespace

OrderedRaces::OrderedRaces(const SiteTable& sites, const Launch& launch) : sites_(sites), launch_(launch) {
  const uint64_t blocks = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  active_ = blocks > 1;
  spent_ = blocks > kMaxBlocks;
  if (!active_ || spent_) return;
  agents_.resize(blocks);
  clock_bits_ = std::min(32, kBlockAndClockBits - static_cast<int>(std::bit_width(blocks - 1)));
}

uint64_t OrderedRaces::pack(uint32_t block, uint32_t site, uint32_t warp, int lane, bool strong) const {
  return (uint64_t{block} << clock_bits_ | agents_[block].clock) << 29 | uint64_t{site & (kMaxSites - 1)} << 11 | uint64_t{warp} << 6 |
         static_cast<uint64_t>(lane) << 1 | static_cast<uint64_t>(strong);
}

OrderedRaces::VectorClock OrderedRaces::blank() {
  clock_bytes_ += agents_.size() * sizeof(uint32_t);
  if (clock_bytes_ > kMaxClockBytes && agents_.size() > kAlwaysFollowed) spent_ = true;
  return VectorClock(agents_.size(), 0);
}

// Silence would be taken for a clean run.
void OrderedRaces::give_up_when_spent(Warp& warp, const Insn& insn) {
  if (!spent_ || !active_) return;
  active_ = false;
  agents_.clear();
  objects_.clear();
  Finding finding;
  finding.kind = Finding::Kind::kUnsupported;
  finding.message = fmt::format("the blocks of {} communicate, and there are too many of them to look for races between them", launch_.kernel);
  warp.block->report(warp, insn, std::countr_zero(warp.exec), std::move(finding));
}

void OrderedRaces::join(VectorClock& into, const VectorClock& from) {
  if (from.empty()) return;
  if (into.empty()) into = blank();
  for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

OrderedRaces::VectorClock OrderedRaces::released(uint32_t block) {
  any_order_ = true;
  Agent& agent = agents_[block];
  VectorClock all = agent.view;
  if (all.empty()) all = blank();
  if (agent.clock == max_clock()) spent_ = true;
  else ++agent.clock;
  all[block] = agent.clock;
  return all;
}

void OrderedRaces::fence(Warp& warp, const Insn& insn) {
  give_up_when_spent(warp, insn);
  if (!active_) return;
  const auto b = static_cast<uint32_t>(warp.block->linear_index);
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
  return view.empty() || view[block_of(other)] <= clock;
}

void OrderedRaces::report(Warp& warp, const Insn& insn, int lane, uint64_t address, unsigned bytes, Access how,
                          uint64_t other, const char* did) {
  std::string where;
  Finding finding = race_at(warp, ptx::Space::kGlobal, address, bytes, where);
  finding.message = fmt::format("block {} {} {} that block {} {}, with no release and acquire between",
                                warp.block->linear_index, verb(how, false), where, block_of(other), did);
  finding.other = party_at(sites_, launch_, static_cast<uint32_t>(other >> 11) & (kMaxSites - 1), block_of(other),
                           static_cast<uint32_t>(other >> 6 & 31), static_cast<uint32_t>(other >> 1 & 31));
  warp.block->report(warp, insn, lane, std::move(finding));
}

void OrderedRaces::access(Warp& warp, const Insn& insn, uint32_t site, uint8_t flags, Access how,
                          const uint64_t* addresses, Mask lanes, unsigned bytes) {
  give_up_when_spent(warp, insn);
  if (!active_) return;
  const auto block = static_cast<uint32_t>(warp.block->linear_index);
  const bool strong = ((flags & kStrong) != 0 || how == Access::kAtomic) && (flags & kBlockScope) == 0;
  if (strong) synchronise(block, flags, how, addresses, lanes);
  const bool writes = is_write(how);
  for_runs(addresses, lanes, bytes, [&](int lane, uint64_t begin, uint64_t end) {
    const uint64_t value = pack(block, site, warp.index, lane, strong);
    units_.for_units(begin, end, [&](UnitShadow<uint64_t>::Unit& unit, uint64_t at, uint32_t unit_bytes) {
      const auto compare = [&](uint64_t with, const char* did) {
        const bool race = races(with, block, strong);
        if (race) report(warp, insn, lane, at, unit_bytes, how, with, did);
        return race;
      };
      compare(unit.write, "wrote");
      if (writes) {
        if (!compare(unit.first_read, "read")) compare(unit.last_read, "read");
        unit.write = value;
      } else if (unit.first_read == 0 || block_of(unit.first_read) == block) {
        unit.first_read = value;
      } else {
        unit.last_read = value;
      }
    });
  });
}

}  // namespace kw::emu
