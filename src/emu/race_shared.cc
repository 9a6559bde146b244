// Races in shared memory: the shadow has what was last done to each granule of four bytes.
#include <algorithm>
#include <cstring>

#include "emu/lane_addresses.h"
#include "emu/race.h"
#include "emu/race_finding.h"

namespace kw::emu {
namespace {

constexpr uint32_t kPendingBit = 0x8000'0000u;   // BlockRaces::kPending

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

void BlockRaces::check_granules(Current& current, uint32_t granule, uint32_t count, bool writes) {
  const uint32_t self = current.warp.index;
  for (uint32_t g = granule; g < granule + count; ++g) {
    const uint64_t begin = uint64_t{g} * 4, end = begin + 4;
    if (is_candidate(writes_[g], self, current.partial)) check(current, writes_[g], begin, end);
    if (!writes) continue;
    for (uint32_t u = 0; u < warps_; ++u) {
      if (is_candidate(reads_[u][g], self, current.partial)) check(current, reads_[u][g], begin, end);
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
  Current current{warp, insn, offsets, lanes, bytes, ptx::Space::kShared, how, site, partial};
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

}  // namespace kw::emu
