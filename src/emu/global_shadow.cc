#include "emu/global_shadow.h"

#include <algorithm>
#include <bit>

#include "emu/lane_addresses.h"
#include "emu/unit_shadow.h"

namespace kw::emu {

namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kMaxBlocks = 1ull << 30;

// block (30 bits), site (18), warp (5), lane (5).
uint64_t key_of(uint64_t block, uint32_t site, uint32_t warp, uint32_t lane) {
  return (block << 28 | uint64_t{site & (kMaxSites - 1)} << 10 | uint64_t{warp} << 5 | lane) + 1;   // 0 = none
}
uint64_t block_of(uint64_t key) { return (key - 1) >> 28; }

std::unique_ptr<GlobalShadow::Level> make_level(uint8_t shift) {
  auto level = std::make_unique<GlobalShadow::Level>();
  level->shift = shift;
  level->records = std::make_unique<GlobalShadow::Record[]>(kPageBytes >> shift);
  return level;
}

constexpr auto kRelaxed = std::memory_order_relaxed;

bool has(const GlobalShadow::Range& range, uint64_t key) {
  return range.least.load(kRelaxed) <= key && key <= range.greatest.load(kRelaxed);
}

void add(GlobalShadow::Range& range, uint64_t key) {
  if (key < range.least.load(kRelaxed)) range.least.store(key, kRelaxed);
  if (key > range.greatest.load(kRelaxed)) range.greatest.store(key, kRelaxed);
}

}  // namespace

GlobalShadow::Page* GlobalShadow::page_of(uint64_t number) {
  Shard& shard = shards_[number % kShards];
  const std::lock_guard lock(shard.mutex);
  std::unique_ptr<Page>& page = shard.pages[number];
  if (page == nullptr) page = std::make_unique<Page>();
  return page.get();
}

void GlobalShadow::View::access(const BlockContext& block, uint32_t warp, uint32_t site, uint8_t flags, Access how,
                                const uint64_t* addresses, Mask lanes, unsigned bytes) {
  if (block.linear_index >= kMaxBlocks) return;
  const bool strong = (flags & kStrong) != 0 && (flags & kBlockScope) == 0;
  const int kind = how == Access::kAtomic || strong ? 2 : how == Access::kWrite || how == Access::kMatrixWrite ? 0 : 1;
  for_runs(addresses, lanes, bytes, [&](int lane, uint64_t begin, uint64_t end) {
    const uint64_t key = key_of(block.linear_index, site, warp, static_cast<uint32_t>(lane));
    const uint8_t needed = unit_shift(begin, end);
    while (begin < end) {
      const uint64_t number = begin / kPageBytes, stop = std::min(end, (number + 1) * kPageBytes);
      Slot& slot = recent_[number % recent_.size()];
      if (slot.number != number) slot = {number, shadow_.page_of(number)};
      Page& page = *slot.page;
      const uint64_t from = begin % kPageBytes, to = from + (stop - begin);
      begin = stop;
      const Level* const seen = page.level.load(std::memory_order_acquire);
      if (seen != nullptr && seen->shift <= needed) {
        bool all = true;
        for (uint64_t u = from >> seen->shift; u < to >> seen->shift && all; ++u) all = has(seen->records[u].kinds[kind], key);
        if (all) continue;
      }
      const std::lock_guard lock(page.mutex);
      Level* level = page.level.load(kRelaxed);
      if (level == nullptr || level->shift > needed) {
        std::unique_ptr<Level> finer = make_level(needed);
        for (uint64_t u = 0; level != nullptr && u < kPageBytes >> needed; ++u) {
          const Record& coarse = level->records[u >> (level->shift - needed)];
          for (int k = 0; k < 3; ++k) {
            finer->records[u].kinds[k].least.store(coarse.kinds[k].least.load(kRelaxed), kRelaxed);
            finer->records[u].kinds[k].greatest.store(coarse.kinds[k].greatest.load(kRelaxed), kRelaxed);
          }
        }
        level = finer.get();
        page.levels.push_back(std::move(finer));
        page.level.store(level, std::memory_order_release);
      }
      for (uint64_t u = from >> level->shift; u < to >> level->shift; ++u) add(level->records[u].kinds[kind], key);
    }
  });
}

std::vector<Finding> GlobalShadow::finish(const Memory& memory, uint64_t max_findings) {
  std::vector<std::pair<uint64_t, Page*>> pages;
  for (Shard& shard : shards_) {
    for (const auto& [number, page] : shard.pages) pages.emplace_back(number, page.get());
  }
  std::sort(pages.begin(), pages.end());
  std::vector<Finding> findings;
  std::unordered_map<uint64_t, size_t> of_pair;   // sites -> index in findings, or npos when dropped
  const auto site_of = [](uint64_t key) { return static_cast<uint32_t>((key - 1) >> 10 & (kMaxSites - 1)); };
  const auto party = [&](uint64_t key) {
    return party_at(sites_, launch_, site_of(key), block_of(key), static_cast<uint32_t>((key - 1) >> 5 & 31),
                    static_cast<uint32_t>((key - 1) & 31));
  };
  static constexpr const char* kVerbs[] = {"writes", "reads", "updates atomically"};
  const auto report = [&](uint64_t address, unsigned bytes, uint64_t a, int kind_a, uint64_t b, int kind_b) {
    const uint64_t pair = uint64_t{site_of(a)} << 32 | site_of(b);
    const auto [it, fresh] = of_pair.try_emplace(pair, findings.size());
    if (!fresh) {
      if (it->second < findings.size()) ++findings[it->second].count;
      return;
    }
    if (findings.size() >= max_findings) {
      it->second = ~size_t{0};
      return;
    }
    Finding finding;
    finding.kind = Finding::Kind::kRace;
    finding.space = ptx::Space::kGlobal;
    finding.address = address;
    finding.bytes = bytes;
    if (const Allocation* const holder = memory.find(address)) {
      finding.object = holder->label;
      finding.object_offset = static_cast<int64_t>(address - holder->begin);
    }
    finding.message = fmt::format("block {} {} offset {} of '{}' that block {} {}; blocks of a launch have no order",
                                  block_of(a), kVerbs[kind_a], finding.object_offset, finding.object, block_of(b),
                                  kVerbs[kind_b]);
    finding.party = party(a);
    finding.other = party(b);
    findings.push_back(std::move(finding));
  };
  for (const auto& [number, page] : pages) {
    const Level* const level = page->level.load();
    if (level == nullptr) continue;
    for (uint64_t u = 0; u < kPageBytes >> level->shift; ++u) {
      const Record& record = level->records[u];
      uint64_t least[3], greatest[3];
      for (int k = 0; k < 3; ++k) {
        least[k] = record.kinds[k].least.load(kRelaxed);
        greatest[k] = record.kinds[k].greatest.load(kRelaxed);
      }
      const uint64_t address = number * kPageBytes + (u << level->shift);
      const unsigned bytes = 1u << level->shift;
      // An access of kind `k` by another block than that of `key`, or 0.
      const auto by_other = [&](uint64_t key, int k) -> uint64_t {
        if (greatest[k] == 0) return 0;
        if (block_of(least[k]) != block_of(key)) return least[k];
        return block_of(greatest[k]) != block_of(key) ? greatest[k] : 0;
      };
      if (greatest[0] != 0) {
        if (block_of(least[0]) != block_of(greatest[0])) {
          report(address, bytes, greatest[0], 0, least[0], 0);
        }
        for (int k = 1; k < 3; ++k) {
          if (const uint64_t other = by_other(least[0], k)) report(address, bytes, least[0], 0, other, k);
        }
      }
      if (greatest[2] != 0 && greatest[1] != 0) {
        const uint64_t other = by_other(least[2], 1);
        if (other != 0) {
          report(address, bytes, least[2], 2, other, 1);
        } else if (const uint64_t reverse = by_other(least[1], 2)) {
          report(address, bytes, reverse, 2, least[1], 1);
        }
      }
    }
  }
  return findings;
}

}  // namespace kw::emu
