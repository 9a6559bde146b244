// Races between the warps of one block, in shared and in global memory (docs/design/checks.md).
//
// Every checked access gets a serial number; shadow memory holds, per four-byte granule of shared memory, the
// serial of the last write and of each warp's last read, and a log tells site, clock and addresses of a serial.
// A barrier of the whole block raises the floor: what lies below it is ordered before everything to come, so
// a granule is dismissed by one comparison. Above the floor, vector clocks of the warps decide (FastTrack,
// Flanagan and Freund, PLDI 2009). A cp.async write is nobody's until its lane waits for its group.
// Internal to emu; one per block in flight, used again for the next block.
#pragma once

#include <array>
#include <span>
#include <unordered_map>
#include <vector>

#include "emu/site_table.h"
#include "emu/unit_shadow.h"

namespace kw::emu {

struct SiteRef { uint32_t site = 0; uint8_t flags = 0; };

class BlockRaces {
 public:
  BlockRaces(const SiteTable& sites, const Launch& launch) : sites_(sites), launch_(launch) {}
  void begin(BlockContext& block);
  void end(BlockContext& block);

  void shared(Warp& warp, const Insn& insn, SiteRef site, Access how, const uint64_t* offsets, Mask lanes,
              unsigned bytes);
  void global(Warp& warp, const Insn& insn, SiteRef site, Access how, const uint64_t* addresses, Mask lanes,
              unsigned bytes);

  void barrier(std::span<const Mask> arrived, std::span<const Mask> waited, bool whole_block);
  void warp_sync(Warp& warp);
  void fence(Warp& warp);
  void group_commit(Warp& warp, Mask lanes);
  void group_wait(Warp& warp, Mask lanes, uint32_t pending);
  void mbarrier_arrive(Warp& warp, uint32_t offset, Mask lanes, bool with_copies);
  void mbarrier_wait(Warp& warp, uint32_t offset);

 private:
  static constexpr uint32_t kWarps = 32;
  static constexpr uint32_t kPending = 0x8000'0000u;   // in a value: a cp.async write nobody waited for
  static constexpr uint32_t kSerialLimit = 1u << 26;
  using VectorClock = std::array<uint32_t, kWarps>;

  struct Entry {                     // one logged access
    uint32_t site = 0, clock = 0;
    Mask lanes = 0;
    uint32_t pool = 0;               // index of its addresses, unless they are consecutive
    uint64_t first = 0;
    uint16_t bytes = 0;
    uint8_t warp = 0, flags = 0;
    Access how = Access::kRead;
    bool partial = false, consecutive = false;
  };
  struct Copies {                    // one cp.async instruction not waited for by all of its lanes
    uint32_t site = 0;
    Mask lanes = 0;                  // not yet published
    uint8_t warp = 0, bytes = 0;
    std::array<uint32_t, kLanes> offsets{}, groups{};
  };
  struct Current {                   // the access being checked
    Warp& warp;
    const Insn& insn;
    const uint64_t* addresses;
    Mask lanes;
    unsigned bytes;
    ptx::Space space;
    Access how;
    SiteRef site;
    bool partial;
    uint32_t ordered = 0;            // the last value found to be ordered before this access
  };

  uint32_t log(const Current& current, bool consecutive);   // returns serial << 5 | warp
  void cut();                        // forgets what happened, without claiming anything about it
  const Entry& entry(uint32_t value) const { return log_[(value >> 5) - log_base_]; }
  uint64_t address_of(const Entry& entry, int lane) const;
  // Whether what `value` names may race with an access of `warp` now.
  bool is_candidate(uint32_t value, uint32_t warp, bool partial) const {
    return value >= floor_ && (partial || ((value ^ warp) & (kPending | 31)) != 0);
  }
  void check(Current& current, uint32_t value, uint64_t begin, uint64_t end);
  void check_granules(Current& current, uint32_t granule, uint32_t count, bool writes);
  void check_same_instruction(Current& current);
  void touch(Current& current, uint32_t granule, uint32_t count, bool writes, uint32_t value, uint32_t stored);
  void touch_rows(Current& current, bool writes, uint32_t value, uint32_t stored);
  void touch_units(Current& current, uint64_t begin, uint64_t end, bool writes, uint32_t value);
  void report(Current& current, int lane, uint64_t address, uint32_t other_site, uint32_t other_warp, int other_lane,
              Access other_how, const char* why);
  void publish(Warp& warp, Mask lanes, const uint32_t* below);
  void synchronise(const Current& current);
  void join(VectorClock& into, const VectorClock& from);
  VectorClock released(uint32_t warp);   // all the warp did so far; its clock moves on

  const SiteTable& sites_;
  const Launch& launch_;
  BlockContext* block_ = nullptr;
  uint32_t warps_ = 0;

  uint32_t serial_ = 1;
  uint32_t floor_ = 0;               // as a value (serial << 5)
  uint32_t log_base_ = 1;
  std::vector<Entry> log_;
  std::vector<std::array<uint64_t, kLanes>> pool_;

  std::vector<uint32_t> writes_;                       // per granule
  std::vector<std::vector<uint32_t>> reads_;           // per warp, per granule
  UnitShadow<uint32_t> units_;                         // of global memory

  std::array<uint32_t, kWarps> clock_{};
  std::array<VectorClock, kWarps> view_{};             // view_[w][u] > c: what u did at clock c is before w
  std::array<VectorClock, kWarps> fenced_{}, to_acquire_{};
  std::array<bool, kWarps> has_fenced_{}, diverged_{};
  std::unordered_map<uint64_t, VectorClock> objects_;  // what strong writes and mbarrier arrivals released
  bool any_order_ = false;           // something but whole-block barriers orders warps

  std::vector<Copies> copies_;       // index + copies_base_ = number in a pending value
  uint32_t copies_base_ = 0;
  std::array<std::array<uint32_t, kLanes>, kWarps> committed_{};

  std::unordered_map<uint64_t, uint64_t> seen_;        // pair of sites -> occurrences beyond the first
};

}  // namespace kw::emu
