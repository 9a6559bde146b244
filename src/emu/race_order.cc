// What orders the accesses of a block: barriers, fences, strong accesses, mbarriers, waits for cp.async.
#include "emu/race.h"

#include <algorithm>
#include <cstring>

#include "emu/lane_addresses.h"

namespace kw::emu {
namespace {

using V4 __attribute__((vector_size(16))) = uint32_t;

}  // namespace

void BlockRaces::join(VectorClock& into, const VectorClock& from) {
  for (uint32_t i = 0; i < kWarps; ++i) into[i] = std::max(into[i], from[i]);
}

BlockRaces::VectorClock BlockRaces::released(uint32_t warp) {
  any_order_ = true;
  VectorClock all = view_[warp];
  all[warp] = ++clock_[warp];
  return all;
}

void BlockRaces::barrier(std::span<const Mask> arrived, std::span<const Mask> waited, bool whole_block) {
  if (whole_block) {
    const uint32_t next = *std::max_element(clock_.begin(), clock_.end()) + 1;
    clock_.fill(next);
    diverged_.fill(false);
    floor_ = serial_ << 5;
    log_base_ = serial_;
    log_.clear();
    pool_.clear();
    return;
  }
  VectorClock all{};
  for (uint32_t w = 0; w < arrived.size() && w < kWarps; ++w) {
    if (arrived[w] == 0) continue;
    join(all, released(w));
    diverged_[w] = false;
  }
  for (uint32_t w = 0; w < waited.size() && w < kWarps; ++w) {
    if (waited[w] != 0) join(view_[w], all);
  }
}

void BlockRaces::warp_sync(Warp& warp) {
  ++clock_[warp.index];
  diverged_[warp.index] = false;
}

void BlockRaces::fence(Warp& warp) {
  const uint32_t w = warp.index;
  join(view_[w], to_acquire_[w]);
  fenced_[w] = released(w);
  has_fenced_[w] = true;
}

// A strong access releases what its warp's last fence covered (or, with .release, everything) to its address, and
// acquires what is there (at once with .acquire, else at the next fence).
void BlockRaces::synchronise(const Current& current) {
  const uint32_t w = current.warp.index;
  const uint8_t flags = current.site.flags;
  const bool update = current.how == Access::kAtomic, reads = update || current.how == Access::kRead;
  const bool writes = update || current.how == Access::kWrite;
  if ((flags & (kAcquire | kRelease)) == 0 && !any_order_) return;
  for_lanes(current.lanes, [&](int i) {
    const uint64_t address = current.addresses[i];
    const auto found = objects_.find(address);
    if (reads && found != objects_.end()) join((flags & kAcquire) != 0 ? view_[w] : to_acquire_[w], found->second);
    if (!writes) return;
    const bool release = (flags & kRelease) != 0;
    if (!release && !has_fenced_[w]) {
      if (!update && found != objects_.end()) objects_.erase(found);
      return;
    }
    const VectorClock given = release ? released(w) : fenced_[w];
    if (update) {
      join(objects_[address], given);
    } else {
      objects_[address] = given;
    }
  });
}

void BlockRaces::mbarrier_arrive(Warp& warp, uint32_t offset, Mask lanes, bool with_copies) {
  if (with_copies) {
    std::array<uint32_t, kLanes> all;
    all.fill(0xffffffffu);
    publish(warp, lanes, all.data());
  }
  join(objects_[offset], released(warp.index));
}

void BlockRaces::mbarrier_wait(Warp& warp, uint32_t offset) {
  const auto found = objects_.find(offset);
  if (found != objects_.end()) join(view_[warp.index], found->second);
}

// ── cp.async ─────────────────────────────────────────────────────────────────────────────────────────────

void BlockRaces::group_commit(Warp& warp, Mask lanes) {
  for_lanes(lanes, [&](int i) { ++committed_[warp.index][i]; });
}

void BlockRaces::group_wait(Warp& warp, Mask lanes, uint32_t pending) {
  std::array<uint32_t, kLanes> below;
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t have = committed_[warp.index][i];
    below[i] = have > pending ? have - pending : 0;
  }
  publish(warp, lanes, below.data());
}

// The lanes' copies of groups below `below` become writes of their warp, made now.
void BlockRaces::publish(Warp& warp, Mask lanes, const uint32_t* below) {
  const uint32_t self = warp.index;
  for (size_t k = 0; k < copies_.size(); ++k) {
    Copies& copies = copies_[k];
    if (copies.warp != self || (copies.lanes & lanes) == 0) continue;
    Mask due = 0;
    for_lanes(copies.lanes & lanes, [&](int i) { due |= static_cast<Mask>(copies.groups[i] < below[i]) << i; });
    if (due == 0) continue;
    uint64_t offsets[kLanes];
    for (int i = 0; i < kLanes; ++i) offsets[i] = copies.offsets[i];
    static const Insn kNoInsn;
    Current made{warp, kNoInsn, offsets, due, copies.bytes, ptx::Space::kShared, Access::kAsyncWrite, {copies.site, 0}, false};
    const uint32_t value = log(made, false);
    const uint32_t number = copies_base_ + static_cast<uint32_t>(k);
    const uint32_t held = kPending | (number & (kSerialLimit - 1)) << 5 | self;
    const uint32_t count = copies.bytes / 4;
    if (count == 4) {
      const V4 from = {held, held, held, held}, to = {value, value, value, value};
      for_lanes(due, [&](int i) {
        V4 v;
        std::memcpy(&v, &writes_[copies.offsets[i] / 4], sizeof v);
        v = v == from ? to : v;
        std::memcpy(&writes_[copies.offsets[i] / 4], &v, sizeof v);
      });
    } else {
      for_lanes(due, [&](int i) {
        uint32_t* const at = &writes_[copies.offsets[i] / 4];
        for (uint32_t j = 0; j < count; ++j) at[j] = at[j] == held ? value : at[j];
      });
    }
    copies.lanes &= ~due;
  }
  size_t done = 0;
  while (done < copies_.size() && copies_[done].lanes == 0) ++done;
  if (done == copies_.size() || done > 256) {
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<ptrdiff_t>(done));
    copies_base_ += static_cast<uint32_t>(done);
  }
}

}  // namespace kw::emu
