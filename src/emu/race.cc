#include "emu/race.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/memory_access.h"
#include "emu/object_name.h"
#include "emu/stored_value.h"

namespace kw::emu {
namespace {

using ptx::Space;

constexpr uint32_t kPendingBit = 0x8000'0000u;   // BlockRaces::kPending

constexpr size_t kLogLimit = 1u << 18;
constexpr size_t kPoolLimit = 1u << 15;

bool is_write(Access how) {
  return how == Access::kWrite || how == Access::kMatrixWrite || how == Access::kAtomic || how == Access::kAsyncWrite;
}

const char* verb(Access how, bool past) {
  switch (how) {
    case Access::kAtomic: return past ? "updated atomically" : "updates atomically";
    case Access::kWrite:
    case Access::kMatrixWrite: return past ? "wrote" : "writes";
    case Access::kAsyncWrite: return past ? "wrote by cp.async" : "writes by cp.async";
    case Access::kRead:
    case Access::kMatrixRead:
    case Access::kAsyncRead: break;
  }
  return past ? "read" : "reads";
}

bool are_consecutive(const uint64_t* addresses, Mask lanes, unsigned bytes) {
  if (lanes != kFull) return false;
  uint64_t difference = 0;
  for (uint64_t i = 0; i < kLanes; ++i) difference |= addresses[i] ^ (addresses[0] + i * bytes);
  return difference == 0;
}

// Whether a value is at or above the floor and not the warp's own ordinary access.
inline uint32_t foreign(uint32_t value, uint32_t floor, uint32_t warp) {
  return static_cast<uint32_t>(value >= floor) & static_cast<uint32_t>(((value ^ warp) & (kPendingBit | 31)) != 0);
}

using V4 __attribute__((vector_size(16))) = uint32_t;

inline bool any_foreign(const uint32_t* values, uint32_t count, uint32_t floor, uint32_t warp) {
  uint32_t bad = 0;
  for (uint32_t i = 0; i < count; ++i) bad |= foreign(values[i], floor, warp);
  return bad != 0;
}

inline bool any_above(const uint32_t* values, uint32_t count, uint32_t floor) {
  uint32_t bad = 0;
  for (uint32_t i = 0; i < count; ++i) bad |= static_cast<uint32_t>(values[i] >= floor);
  return bad != 0;
}

}  // namespace

void BlockRaces::begin(BlockContext& block) {
  block_ = &block;
  warps_ = static_cast<uint32_t>(block.warps.size());
  const size_t granules = (block.shared_bytes + 3) / 4 + 4;
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
  if (pages_.size() > 1u << 14) pages_.clear();   // bounds what a host thread keeps; begin() needs none of it
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
    pages_.clear();
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

bool BlockRaces::is_candidate(uint32_t value, uint32_t warp, bool partial) const {
  if (value < floor_) return false;
  return partial || ((value ^ warp) & (kPending | 31)) != 0;
}

// Compares the current access with the one that `value` names, for bytes in [begin, end).
void BlockRaces::check(Current& current, uint32_t value, uint64_t begin, uint64_t end, bool other_wrote) {
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
  (void)other_wrote;
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

void BlockRaces::check_granules(Current& current, uint32_t granule, uint32_t count, bool writes) {
  const uint32_t self = current.warp.index;
  for (uint32_t g = granule; g < granule + count; ++g) {
    const uint64_t begin = uint64_t{g} * 4, end = begin + 4;
    if (is_candidate(writes_[g], self, current.partial)) check(current, writes_[g], begin, end, true);
    if (!writes) continue;
    for (uint32_t u = 0; u < warps_; ++u) {
      if (is_candidate(reads_[u][g], self, current.partial)) check(current, reads_[u][g], begin, end, false);
    }
  }
}

// `value` names the access; `stored` is what the shadow of a write holds (value, or a pending copy).
inline void BlockRaces::touch(Current& current, uint32_t granule, uint32_t count, bool writes, uint32_t value,
                              uint32_t stored) {
  const uint32_t self = current.warp.index;
  bool suspicious = current.partial || any_foreign(&writes_[granule], count, floor_, self);
  if (writes && !suspicious) {
    for (uint32_t u = 0; u < warps_; ++u) {
      suspicious |= u != self && any_above(&reads_[u][granule], count, floor_);
    }
  }
  if (suspicious) check_granules(current, granule, count, writes);
  uint32_t* const to = writes ? &writes_[granule] : &reads_[self][granule];
  const uint32_t put = writes ? stored : value;
  for (uint32_t i = 0; i < count; ++i) to[i] = put;
}

// Sixteen bytes per lane (ldmatrix, cp.async, vectors): all lanes are tested before any is looked at.
void BlockRaces::touch_rows(Current& current, bool writes, uint32_t value, uint32_t stored) {
  const uint32_t self = current.warp.index;
  uint32_t granules[kLanes];
  uint32_t count = 0;
  for_lanes(current.lanes, [&](int i) { granules[count++] = static_cast<uint32_t>(current.addresses[i] / 4); });
  const V4 floor = {floor_, floor_, floor_, floor_}, own = {self, self, self, self};
  V4 bad = {};
  if (!writes && !current.partial) {   // a read may be recorded before it is checked: reads do not race
    const V4 put = {value, value, value, value};
    const uint32_t* const last = writes_.data();
    uint32_t* const to = reads_[self].data();
    for (uint32_t i = 0; i < count; ++i) {
      V4 v;
      std::memcpy(&v, &last[granules[i]], sizeof v);
      bad |= reinterpret_cast<V4>((v >= floor) & (((v ^ own) & (kPending | 31)) != 0));
      std::memcpy(&to[granules[i]], &put, sizeof put);
    }
    if ((bad[0] | bad[1] | bad[2] | bad[3]) != 0) {
      for (uint32_t i = 0; i < count; ++i) check_granules(current, granules[i], 4, false);
    }
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    V4 v;
    std::memcpy(&v, &writes_[granules[i]], sizeof v);
    bad |= reinterpret_cast<V4>((v >= floor) & (((v ^ own) & (kPending | 31)) != 0));
  }
  for (uint32_t u = 0; writes && u < warps_; ++u) {
    if (u == self) continue;
    const uint32_t* const reads = reads_[u].data();
    for (uint32_t i = 0; i < count; ++i) {
      V4 v;
      std::memcpy(&v, &reads[granules[i]], sizeof v);
      bad |= reinterpret_cast<V4>(v >= floor);
    }
  }
  if (current.partial || (bad[0] | bad[1] | bad[2] | bad[3]) != 0) {
    for (uint32_t i = 0; i < count; ++i) check_granules(current, granules[i], 4, writes);
  }
  uint32_t* const to = writes ? writes_.data() : reads_[self].data();
  const uint32_t put = writes ? stored : value;
  const V4 all = {put, put, put, put};
  for (uint32_t i = 0; i < count; ++i) std::memcpy(&to[granules[i]], &all, sizeof all);
}

void BlockRaces::shared(Warp& warp, const Insn& insn, SiteRef site, Access how, const uint64_t* offsets, Mask lanes,
                        unsigned bytes) {
  const uint32_t self = warp.index;
  const bool partial = lanes != warp.live && how != Access::kMatrixRead;
  if (!partial && diverged_[self]) ++clock_[self];
  diverged_[self] = partial;
  Current current{warp, insn, offsets, lanes, bytes, Space::kShared, how, site, partial};
  if ((site.flags & kStrong) != 0 && warps_ > 1) synchronise(current);
  const bool writes = is_write(how);
  const bool consecutive = are_consecutive(offsets, lanes, bytes);
  const uint32_t value = log(current, consecutive);
  uint32_t stored = value;
  if (how == Access::kAsyncWrite) {
    Copies& copies = copies_.emplace_back();
    copies.site = site.site;
    copies.lanes = lanes;
    copies.warp = static_cast<uint8_t>(self);
    copies.bytes = static_cast<uint8_t>(bytes);
    for_lanes(lanes, [&](int i) {
      copies.offsets[i] = static_cast<uint32_t>(offsets[i]);
      copies.groups[i] = committed_[self][i];
    });
    const uint32_t number = copies_base_ + static_cast<uint32_t>(copies_.size()) - 1;
    stored = kPending | (number & (kSerialLimit - 1)) << 5 | self;
  }
  if (consecutive) {
    const auto first = static_cast<uint32_t>(offsets[0] / 4);
    const auto last = static_cast<uint32_t>((offsets[kLanes - 1] + bytes - 1) / 4);
    touch(current, first, last - first + 1, writes, value, stored);
    return;
  }
  if (how == Access::kWrite) check_same_instruction(current);
  if (bytes == 16) {
    touch_rows(current, writes, value, stored);
    return;
  }
  const uint32_t count = std::max(1u, bytes / 4);
  for_lanes(lanes, [&](int i) { touch(current, static_cast<uint32_t>(offsets[i] / 4), count, writes, value, stored); });
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
  Finding finding;
  finding.kind = Finding::Kind::kRace;
  finding.space = current.space;
  finding.address = address;
  finding.bytes = current.bytes;
  finding.mark = pair;
  const std::string where = name_object(current.warp, finding);
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

// ── Global memory, within the block ──────────────────────────────────────────────────────────────────────

void BlockRaces::touch_units(Current& current, uint64_t begin, uint64_t end, bool writes, uint32_t value) {
  const uint32_t self = current.warp.index;
  const uint8_t needed = (begin | end) % 32 == 0 ? 5 : (begin | end) % 4 == 0 ? 2 : 0;
  while (begin < end) {
    const uint64_t number = begin / 4096, stop = std::min(end, (number + 1) * 4096);
    Page& page = pages_[number];
    if (page.units.empty()) {
      page.shift = needed;
      page.units.resize(4096u >> needed);
    } else if (page.shift > needed) {   // finer from now on: what a unit knows holds for its parts
      const unsigned split = 1u << (page.shift - needed);
      std::vector<Unit> finer;
      finer.reserve(page.units.size() * split);
      for (const Unit& unit : page.units) finer.insert(finer.end(), split, unit);
      page.units = std::move(finer);
      page.shift = needed;
    }
    const uint32_t unit_bytes = 1u << page.shift;
    for (uint64_t at = begin; at < stop; at += unit_bytes) {
      Unit& unit = page.units[(at & 4095) >> page.shift];
      if (is_candidate(unit.write, self, current.partial)) check(current, unit.write, at, at + unit_bytes, true);
      if (writes) {
        if (is_candidate(unit.first_read, self, current.partial)) check(current, unit.first_read, at, at + unit_bytes, false);
        if (is_candidate(unit.last_read, self, current.partial)) check(current, unit.last_read, at, at + unit_bytes, false);
        unit.write = value;
      } else if (unit.first_read < floor_ || (unit.first_read & 31) == self) {
        unit.first_read = value;
      } else {
        unit.last_read = value;
      }
    }
    begin = stop;
  }
}

void BlockRaces::global(Warp& warp, const Insn& insn, SiteRef site, Access how, const uint64_t* addresses, Mask lanes,
                        unsigned bytes) {
  const uint32_t self = warp.index;
  const bool partial = lanes != warp.live && how != Access::kAsyncRead;
  if (!partial && diverged_[self]) ++clock_[self];
  diverged_[self] = partial;
  Current current{warp, insn, addresses, lanes, bytes, Space::kGlobal, how, site, partial};
  if ((site.flags & kStrong) != 0) synchronise(current);
  const bool writes = is_write(how);
  const bool consecutive = are_consecutive(addresses, lanes, bytes);
  const uint32_t value = log(current, consecutive);
  if (!consecutive && how == Access::kWrite) check_same_instruction(current);
  for (Mask rest = lanes; rest != 0;) {   // runs of adjacent lanes
    const int first = std::countr_zero(rest);
    uint64_t end = addresses[first];
    while (rest != 0 && addresses[std::countr_zero(rest)] == end) {
      end += bytes;
      rest &= rest - 1;
    }
    touch_units(current, addresses[first], end, writes, value);
  }
}

}  // namespace kw::emu
