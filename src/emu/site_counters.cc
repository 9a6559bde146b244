#include "emu/site_counters.h"

#include <algorithm>
#include <map>

#include "emu/block.h"

namespace kw::emu {
namespace {

// `see(insn, warps, threads)` for every instruction that stands for its PTX instruction.
template <typename See>
void each_counted(const CodeCounts& counts, const Code& code, See see) {
  for (uint32_t b = 0; b < code.blocks.size(); ++b) {
    int64_t entries = static_cast<int64_t>(counts.entries[b]), lanes = static_cast<int64_t>(counts.lanes[b]);
    for (uint32_t i = code.blocks[b].begin; i < code.blocks[b].end; ++i) {
      if (!counts.partial.empty()) {
        if (auto it = counts.partial.find(i); it != counts.partial.end()) {
          entries += it->second.entries;
          lanes += it->second.lanes;
        }
      }
      if (code.insns[i].counted) see(code.insns[i], static_cast<uint64_t>(entries), static_cast<uint64_t>(lanes));
    }
  }
}

// The largest number of lanes that name one address; the addresses go into `seen`.
uint32_t count_address_passes(const uint64_t* addresses, Mask lanes, std::set<uint64_t>& seen) {
  uint32_t most = 0;
  for (int i = 0; i < kLanes; ++i) {
    if ((lanes >> i & 1u) == 0) continue;
    if (seen.size() < SiteCounters::kMostAddresses) seen.insert(addresses[i]);
    uint32_t same = 0;
    for (int j = 0; j <= i; ++j) same += (lanes >> j & 1u) != 0 && addresses[j] == addresses[i];
    most = std::max(most, same);
  }
  return most;
}

}  // namespace

void count_instructions(const CodeCounts& counts, const Code& code, Counters& into) {
  each_counted(counts, code, [&](const Insn& insn, uint64_t warps, uint64_t threads) {
    into.warp_instructions[insn.instruction_class] += warps;
    into.thread_instructions[insn.instruction_class] += threads;
    if (insn.ends_block && (static_cast<Terminator>(insn.aux) == Terminator::kBranch || static_cast<Terminator>(insn.aux) == Terminator::kBranchIndexed)) {
      into.branches += warps;
    }
  });
  into.divergent_branches += counts.divergent_branches;
}

std::vector<SiteCounters> site_counters(std::span<const CountTable* const> tables, const SiteTotals& totals,
                                        const Launch& launch, const Code& entry) {
  // By function, the kernel first; in it by PTX instruction, which may be several Insns.
  std::map<std::pair<bool, uint32_t>, std::pair<const Code*, std::map<uint32_t, SiteCounters>>> by_code;
  const auto sites_of = [&](const Code* code) -> std::map<uint32_t, SiteCounters>& {
    auto& [same, sites] = by_code[{code != &entry, code->function_index}];
    same = code;
    return sites;
  };
  for (const CountTable* table : tables) {
    for (const auto& [code, counts] : *table) {
      auto& sites = sites_of(code);
      each_counted(*counts, *code, [&](const Insn& insn, uint64_t warps, uint64_t threads) {
        if (warps == 0 || insn.source >= code->sources.size()) return;
        SiteCounters& site = sites[insn.source];
        site.instruction_class = insn.instruction_class;
        site.warps += warps;
        site.threads += threads;
      });
    }
  }
  for (const auto& [code, list] : totals.accesses) {
    auto& sites = sites_of(code);
    for (size_t i = 0; i < list.size(); ++i) {
      const auto at = sites.find(code->insns[i].source);
      if (at == sites.end()) continue;
      SiteCounters& site = at->second;
      site.requests += list[i].requests;
      site.bytes += list[i].bytes;
      site.sectors += list[i].sectors;
      site.lines += list[i].lines;
      site.wavefronts += list[i].wavefronts;
      site.ideal_wavefronts += list[i].ideal_wavefronts;
      site.address_passes += list[i].address_passes;
      site.addresses += list[i].addresses.size();
      if (list[i].requests != 0) site.space = list[i].space;
    }
  }
  std::vector<SiteCounters> out;
  for (auto& [place, of_code] : by_code) {
    auto& [code, sites] = of_code;
    for (auto& [source, site] : sites) {
      BlockContext block;
      block.launch = &launch;
      Warp executing;
      executing.block = &block;
      executing.code = code;
      const auto same = std::find_if(code->insns.begin(), code->insns.end(), [&, s = source](const Insn& each) { return each.source == s; });
      site.party = block.party(executing, *same, 0);
      out.push_back(std::move(site));
    }
  }
  return out;
}

uint64_t SiteTotals::pages() const {
  std::unordered_set<uint64_t> pages;
  for (const uint64_t sector : sectors) pages.insert(sector / (Counters::kPageBytes / 32));
  return pages.size();
}

void SiteTotals::add(const SiteTotals& other) {
  sectors.insert(other.sectors.begin(), other.sectors.end());
  for (const auto& [code, from] : other.accesses) {
    std::vector<SiteAccess>& to = accesses[code];
    to.resize(std::max(to.size(), from.size()));
    for (size_t i = 0; i < from.size(); ++i) {
      const SiteAccess& a = from[i];
      if (a.requests == 0 && a.wavefronts == 0) continue;
      to[i].requests += a.requests;
      to[i].bytes += a.bytes;
      to[i].sectors += a.sectors;
      to[i].lines += a.lines;
      to[i].wavefronts += a.wavefronts;
      to[i].ideal_wavefronts += a.ideal_wavefronts;
      to[i].address_passes += a.address_passes;
      to[i].space = a.space;
      for (const uint64_t address : a.addresses) {
        if (to[i].addresses.size() < SiteCounters::kMostAddresses) to[i].addresses.insert(address);
      }
    }
  }
}

void SiteCounting::access(const Warp& warp, const Insn& insn, ptx::Space space, Access how, const uint64_t* addresses, Mask lanes,
                          unsigned bytes, const AccessCount& added) {
  const auto index = static_cast<size_t>(&insn - warp.code->insns.data());
  if (index >= warp.code->insns.size()) return;
  std::vector<SiteAccess>& of_code = totals_.accesses[warp.code];
  if (of_code.empty()) of_code.resize(warp.code->insns.size());
  SiteAccess& site = of_code[index];
  site.wavefronts += added.wavefronts;
  site.ideal_wavefronts += added.ideal_wavefronts;
  if (how == Access::kAsyncWrite) return;   // the shared side of a copy; the global one comes too
  ++site.requests;
  site.bytes += added.bytes;
  site.sectors += added.sectors;
  site.space = space;
  if (how == Access::kAtomic) site.address_passes += count_address_passes(addresses, lanes, site.addresses);
  if (space != ptx::Space::kGlobal && space != ptx::Space::kNone) return;
  site.lines += count_lines(addresses, lanes, bytes);
  uint64_t last = ~uint64_t{0};
  for (int i = 0; i < kLanes; ++i) {
    if ((lanes >> i & 1u) == 0) continue;
    for (uint64_t sector = addresses[i] / 32; sector <= (addresses[i] + bytes - 1) / 32; ++sector) {
      if (sector == last) continue;
      last = sector;
      (how == Access::kWrite || how == Access::kAtomic ? changed_ : loaded_).insert(sector);
    }
  }
}

void SiteCounting::block_end(Counters& counters) {
  counters.block_sectors_load += loaded_.size();
  loaded_.insert(changed_.begin(), changed_.end());
  counters.block_sectors += loaded_.size();
  totals_.sectors.insert(loaded_.begin(), loaded_.end());
  loaded_.clear();
  changed_.clear();
}

}  // namespace kw::emu
