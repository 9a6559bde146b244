// What each instruction of a launch did (Options::count_sites): where a launch spends its instructions and its traffic.
// Exact for the PTX executed. Instructions that nothing executed are left out; the others stand in the order of the text,
// a kernel's own before those of the functions that it calls.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emu/count_access.h"
#include "emu/emulator.h"
#include "emu/insn.h"
#include "emu/run_warp.h"

namespace kw::emu {

// Memory accesses of one instruction.
struct SiteAccess {
  uint64_t requests = 0, bytes = 0, sectors = 0, lines = 0, wavefronts = 0, ideal_wavefronts = 0, address_passes = 0;
  std::set<uint64_t> addresses;      // of atomics; at most kMostAddresses
  ptx::Space space = ptx::Space::kNone;
};

// What the blocks of one observer, or of all, did.
struct SiteTotals {
  std::unordered_map<const Code*, std::vector<SiteAccess>> accesses;   // per Insn
  std::unordered_set<uint64_t> sectors;                                // of global memory
  uint64_t pages() const;
  void add(const SiteTotals& other);
};

// Counts for one observer; used by one thread.
class SiteCounting {
 public:
  void access(const Warp& warp, const Insn& insn, ptx::Space space, Access how, const uint64_t* addresses, Mask lanes,
              unsigned bytes, const AccessCount& added);
  void block_end(Counters& counters);    // of the block
  const SiteTotals& totals() const { return totals_; }

 private:
  SiteTotals totals_;
  std::unordered_set<uint64_t> loaded_, changed_;   // sectors, by the block
};

// Counts of one host thread.
using CountTable = std::unordered_map<const Code*, std::unique_ptr<CodeCounts>>;
// Adds what the code's instructions did to the counters by class.
void count_instructions(const CodeCounts& counts, const Code& code, Counters& into);
std::vector<SiteCounters> site_counters(std::span<const CountTable* const> tables, const SiteTotals& totals,
                                        const Launch& launch, const Code& entry);

}  // namespace kw::emu
