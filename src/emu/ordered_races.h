// Races between blocks of a launch whose blocks communicate (KernelInfo::order_sensitive): they run on one host
// thread in a fixed interleaving, so order is followed as it arises. Agents are blocks, with a vector clock each.
// A fence followed by a strong write (atomic, volatile, relaxed), or a write with .release, releases to its address
// what the block did; a strong read followed by a fence, or a read with .acquire, acquires what is there (PTX ISA,
// memory consistency model: release and acquire patterns). Not thread-safe. Internal to emu; one per launch.
// Launches of more than kMaxBlocks blocks are not followed: nothing is reported about them.
#pragma once

#include <unordered_map>
#include <vector>

#include "emu/site_table.h"
#include "emu/unit_shadow.h"

namespace kw::emu {

class OrderedRaces {
 public:
  static constexpr uint64_t kMaxBlocks = 4096;

  OrderedRaces(const SiteTable& sites, const Launch& launch);
  void access(Warp& warp, const Insn& insn, uint32_t site, uint8_t flags, Access how, const uint64_t* addresses,
              Mask lanes, unsigned bytes);
  void fence(const BlockContext& block);

 private:
  using VectorClock = std::vector<uint32_t>;   // empty: all zero
  struct Agent {
    uint32_t clock = 1;
    bool has_fenced = false;
    VectorClock view, fenced, to_acquire;
  };

  void join(VectorClock& into, const VectorClock& from) const;
  VectorClock released(uint32_t block);
  void synchronise(uint32_t block, uint8_t flags, Access how, const uint64_t* addresses, Mask lanes);
  bool races(uint64_t other, uint32_t block, bool strong) const;
  void report(Warp& warp, const Insn& insn, int lane, uint64_t address, unsigned bytes, Access how, uint64_t other,
              const char* did);

  const SiteTable& sites_;
  const Launch& launch_;
  bool active_ = false;
  bool any_order_ = false;
  std::vector<Agent> agents_;
  UnitShadow<uint64_t> units_;
  std::unordered_map<uint64_t, VectorClock> objects_;
};

}  // namespace kw::emu
