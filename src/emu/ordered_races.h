// Races between blocks of a launch whose blocks communicate (KernelInfo::order_sensitive): they run on one host
// thread in a fixed interleaving, so order is followed as it arises. Agents are blocks, with a vector clock each.
// A fence followed by a strong write (atomic, volatile, relaxed), or a write with .release, releases to its address
// what the block did; a strong read followed by a fence, or a read with .acquire, acquires what is there (PTX ISA,
// memory consistency model: release and acquire patterns). Not thread-safe. Internal to emu; one per launch.
// A vector clock has an entry for each block: beyond kMaxBlocks, when clocks need more than kMaxClockBytes, or when a
// block releases more often than its clock counts, the check gives up with a finding that says so.
#pragma once

#include <unordered_map>
#include <vector>

#include "emu/site_table.h"
#include "emu/unit_shadow.h"

namespace kw::emu {

class OrderedRaces {
 public:
  static constexpr uint64_t kMaxBlocks = 1 << 16;
  static constexpr uint64_t kMaxClockBytes = uint64_t{1} << 30;

  OrderedRaces(const SiteTable& sites, const Launch& launch);
  void access(Warp& warp, const Insn& insn, uint32_t site, uint8_t flags, Access how, const uint64_t* addresses,
              Mask lanes, unsigned bytes);
  void fence(Warp& warp, const Insn& insn);

 private:
  using VectorClock = std::vector<uint32_t>;   // empty: all zero
  struct Agent {
    uint32_t clock = 1;
    bool has_fenced = false;
    VectorClock view, fenced, to_acquire;
  };

  // An access as the shadow keeps it: block, clock, site (18 bits), warp (5), lane (5), strong (1); 0 = none, for clocks
  // begin at 1.
  uint64_t pack(uint32_t block, uint32_t site, uint32_t warp, int lane, bool strong) const;
  uint32_t block_of(uint64_t value) const { return static_cast<uint32_t>(value >> 29 >> clock_bits_); }
  uint32_t clock_of(uint64_t value) const { return static_cast<uint32_t>(value >> 29) & max_clock(); }
  uint32_t max_clock() const { return static_cast<uint32_t>((uint64_t{1} << clock_bits_) - 1); }

  VectorClock blank();
  void give_up_when_spent(Warp& warp, const Insn& insn);
  void join(VectorClock& into, const VectorClock& from);
  VectorClock released(uint32_t block);
  void synchronise(uint32_t block, uint8_t flags, Access how, const uint64_t* addresses, Mask lanes);
  bool races(uint64_t other, uint32_t block, bool strong) const;
  void report(Warp& warp, const Insn& insn, int lane, uint64_t address, unsigned bytes, Access how, uint64_t other,
              const char* did);

  const SiteTable& sites_;
  const Launch& launch_;
  bool active_ = false, spent_ = false;
  int clock_bits_ = 32;
  uint64_t clock_bytes_ = 0;         // of clocks that are no copies
  bool any_order_ = false;
  std::vector<Agent> agents_;
  UnitShadow<uint64_t> units_;
  std::unordered_map<uint64_t, VectorClock> objects_;
};

}  // namespace kw::emu
