#include "emu/race.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/lane_addresses.h"
#include "emu/race_finding.h"
#include "emu/stored_value.h"

namespace kw::emu {
namespace {

using ptx::Space;

constexpr size_t kLogLimit = 1u << 18;
constexpr size_t kPoolLimit = 1u << 15;

}  // namespace

void BlockRaces::begin(BlockContext& block) {
  block_ = &block;
  warps_ = static_cast<uint32_t>(block.warps.size());
  const size_t granules = (block.shared_extent + 3) / 4 + 4;
  if (writes_.size() < granules) writes_.resize(granules, 0);
  if (reads_.size() < warps_) reads_.resize(warps_);
  for (std::vector<uint32_t>& reads : reads_) {
    if (reads.size() < granules) reads.resize(granules, 0);
  }
  if (!copies_.empty()) {            // copies left in flight by the last block
    std::fill(writes_.begin(), writes_.end(), 0);
    copies_.clear();
  }
  for (auto& lanes : committed_) lanes.fill(0);
  floor_ = serial_ << 5;
  log_base_ = serial_;
  log_.clear();
  pool_.clear();
  clock_.fill(1);
  for (VectorClock& view : view_) view.fill(0);
  for (VectorClock& view : to_acquire_) view.fill(0);
  has_fenced_.fill(false);
  diverged_.fill(false);
  objects_.clear();
  any_order_ = false;
  seen_.clear();
  if (units_.pages() > 1u << 14) units_.clear();   // bounds what a host thread keeps; begin() needs none of it
}

void BlockRaces::end(BlockContext& block) {
  for (const auto& [pair, count] : seen_) {
    if (count == 0) continue;
    for (Finding& finding : block.findings) {
      // report() put the first of each pair there, with the pair as its mark.
      if (finding.kind == Finding::Kind::kRace && finding.mark == pair) {
        finding.count += count;
        break;
      }
    }
  }
}

void BlockRaces::cut() {
  log_.clear();
  pool_.clear();
  if (serial_ >= kSerialLimit - 1) {
    serial_ = 1;
    for (uint32_t& value : writes_) value = value >= kPending ? value : 0;
    for (std::vector<uint32_t>& reads : reads_) std::fill(reads.begin(), reads.end(), 0);
    units_.clear();
  }
  log_base_ = serial_;
  floor_ = serial_ << 5;
}

uint32_t BlockRaces::log(const Current& current, bool consecutive) {
  if (log_.size() >= kLogLimit || pool_.size() >= kPoolLimit || serial_ >= kSerialLimit - 1) cut();
  Entry& entry = log_.emplace_back();
  entry.site = current.site.site;
  entry.clock = clock_[current.warp.index];
  entry.lanes = current.lanes;
  entry.bytes = static_cast<uint16_t>(current.bytes);
  entry.warp = static_cast<uint8_t>(current.warp.index);
  entry.flags = current.site.flags;
  entry.how = current.how;
  entry.partial = current.partial;
  entry.consecutive = consecutive;
  if (consecutive) {
    entry.first = current.addresses[0];
  } else {
    entry.pool = static_cast<uint32_t>(pool_.size());
    std::memcpy(pool_.emplace_back().data(), current.addresses, sizeof pool_[0]);
  }
  return serial_++ << 5 | current.warp.index;
}

uint64_t BlockRaces::address_of(const Entry& entry, int lane) const {
  return entry.consecutive ? entry.first + static_cast<uint64_t>(lane) * entry.bytes : pool_[entry.pool][lane];
}

// Compares the current access with the one that `value` names, for bytes in [begin, end).
void BlockRaces::check(Current& current, uint32_t value, uint64_t begin, uint64_t end) {
  if (value == current.ordered) return;
  const uint32_t self = current.warp.index;
  if ((value & kPending) != 0) {
    const uint32_t number = (value & ~kPending) >> 5;
    if (number < copies_base_ || number - copies_base_ >= copies_.size()) return;
    const Copies& copies = copies_[number - copies_base_];
    for (Mask mine = current.lanes; mine != 0; mine &= mine - 1) {
      const int i = std::countr_zero(mine);
      const uint64_t a = current.addresses[i], a_end = a + current.bytes;
      if (a >= end || a_end <= begin) continue;
      for (Mask theirs = copies.lanes; theirs != 0; theirs &= theirs - 1) {
        const int j = std::countr_zero(theirs);
        const uint64_t b = copies.offsets[j];
        if (b >= a_end || b + copies.bytes <= a) continue;
        report(current, i, std::max(a, b), copies.site, copies.warp, j, Access::kAsyncWrite,
               "and the copy was not waited for");
        return;
      }
    }
    return;
  }
  const Entry& other = entry(value);
  const bool own = other.warp == self;
  if (own && (!current.partial || !other.partial || other.clock != clock_[self])) return;
  if (!own && view_[self][other.warp] > other.clock) {
    current.ordered = value;
    return;
  }
  const bool strong = (current.site.flags & kStrong) != 0 || current.how == Access::kAtomic;
  if (strong && ((other.flags & kStrong) != 0 || other.how == Access::kAtomic)) return;
  for (Mask mine = current.lanes; mine != 0; mine &= mine - 1) {
    const int i = std::countr_zero(mine);
    const uint64_t a = current.addresses[i], a_end = a + current.bytes;
    if (a >= end || a_end <= begin) continue;
    for (Mask theirs = own ? other.lanes & ~current.lanes : other.lanes; theirs != 0; theirs &= theirs - 1) {
      const int j = std::countr_zero(theirs);
      const uint64_t b = address_of(other, j);
      if (b >= a_end || b + other.bytes <= a) continue;
      report(current, i, std::max(a, b), other.site, other.warp, j, other.how,
             own ? "in the other branch of a divergent warp, with no warp barrier between" : "with nothing that orders the two");
      return;
    }
  }
}

// Two lanes that store different values at one address in one instruction: which one stays is not defined.
void BlockRaces::check_same_instruction(Current& current) {
  uint64_t keys[64];
  int8_t holders[64];
  std::memset(holders, -1, sizeof holders);
  for (Mask rest = current.lanes; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const uint64_t address = current.addresses[i];
    unsigned slot = static_cast<unsigned>((address / current.bytes) * 0x9e3779b1u >> 7) & 63;
    while (holders[slot] >= 0 && keys[slot] != address) slot = (slot + 1) & 63;
    if (holders[slot] < 0) {
      holders[slot] = static_cast<int8_t>(i);
      keys[slot] = address;
      continue;
    }
    uint8_t mine[16], theirs[16];
    if (!stored_value(current.warp, current.insn, i, current.bytes, mine) ||
        !stored_value(current.warp, current.insn, holders[slot], current.bytes, theirs)) {
      return;
    }
    if (std::memcmp(mine, theirs, current.bytes) == 0) continue;
    report(current, i, address, current.site.site, current.warp.index, holders[slot], Access::kWrite,
           "in the same instruction, another value");
    return;
  }
}

void BlockRaces::report(Current& current, int lane, uint64_t address, uint32_t other_site, uint32_t other_warp,
                        int other_lane, Access other_how, const char* why) {
  const auto [low, high] = std::minmax(current.site.site, other_site);
  const uint64_t pair = uint64_t{low} << 32 | high;
  const auto [it, fresh] = seen_.try_emplace(pair, 0);
  if (!fresh) {
    ++it->second;
    return;
  }
  std::string where;
  Finding finding = race_at(current.warp, current.space, address, current.bytes, where);
  finding.mark = pair;
  std::string note;
  uint8_t value[16];
  if (current.how == Access::kWrite && other_how == Access::kWrite && other_warp != current.warp.index &&
      stored_value(current.warp, current.insn, lane, current.bytes, value)) {
    const uint64_t host = current.addresses[lane] +
                          (current.space == Space::kShared ? reinterpret_cast<uint64_t>(block_->shared) : 0);
    if (std::memcmp(value, reinterpret_cast<const void*>(host), current.bytes) == 0) {
      note = "; both wrote the same value, which is a race all the same";
    }
  }
  finding.message = fmt::format("warp {} lane {} {} {} bytes at {} that warp {} lane {} {}, {}{}", current.warp.index, lane,
                                verb(current.how, false), current.bytes, where, other_warp, other_lane,
                                verb(other_how, true), why, note);
  finding.other = party_at(sites_, launch_, other_site, block_->linear_index, other_warp, static_cast<uint32_t>(other_lane));
  block_->report(current.warp, current.insn, lane, std::move(finding));
}

}  // namespace kw::emu
