// Races between the blocks of a launch, in global memory (docs/design/checks.md).
//
// Blocks of an ordinary launch have no order between them, so a byte that two blocks touch, one of them writing, is
// a race whichever ran first. GlobalShadow keeps, per unit of memory, the smallest and the largest accessor that
// wrote, read and updated atomically. Minimum and maximum do not depend on the order of the accesses, so neither
// do the findings. A unit is a 32-byte sector until something narrower is accessed in its page, then four bytes,
// then one. Memory: proportional to the pages touched.
// Thread-safe. Internal to emu; one per launch.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "emu/site_table.h"

namespace kw::emu {

class GlobalShadow {
 public:
  GlobalShadow(const SiteTable& sites, const Launch& launch) : sites_(sites), launch_(launch) {}

  struct Range {                      // of accessors, as keys
    std::atomic<uint64_t> least{~0ull}, greatest{0};
  };
  struct Record { Range kinds[3]; };  // write, read, update
  struct Level {
    uint8_t shift = 5;
    std::unique_ptr<Record[]> records;
  };

  struct Page {
    std::mutex mutex;                             // guards every change
    std::atomic<Level*> level{nullptr};
    std::vector<std::unique_ptr<Level>> levels;   // the coarser ones stay for readers in flight
  };

  // One block's view; keeps the pages it used last.
  class View {
   public:
    explicit View(GlobalShadow& shadow) : shadow_(shadow) {}
    void access(const BlockContext& block, uint32_t warp, uint32_t site, uint8_t flags, Access how,
                const uint64_t* addresses, Mask lanes, unsigned bytes);

   private:
    GlobalShadow& shadow_;
    struct Slot { uint64_t number = ~0ull; Page* page = nullptr; };
    std::array<Slot, 64> recent_{};
    friend class GlobalShadow;
  };

  // In address order, distinct by pair of instructions.
  std::vector<Finding> finish(const Memory& memory, uint64_t max_findings);

 private:
  Page* page_of(uint64_t number);

  const SiteTable& sites_;
  const Launch& launch_;
  static constexpr size_t kShards = 64;
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  };
  std::array<Shard, kShards> shards_;
};

}  // namespace kw::emu
