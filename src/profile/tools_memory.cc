// Tools about traffic: what moves between DRAM, L2, L1, shared memory and registers, and in which pieces.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profile/tools.h"

namespace kw::profile {
namespace {

using C = emu::Counters;

bool moves_data(const Site& site) { return site.is_global() && !site.is_atomic(); }
// Sectors that the bytes fill when nothing else is in them.
double dense_sectors(const Site& site) { return std::min(site.sectors, std::ceil(site.bytes / kSectorBytes)); }

// Trigger: requests touch half as many sectors again as their bytes fill, beyond what an unaligned start costs.
// Gain: the load/store path and L2 carry the sectors that are needed.
std::optional<Advice> uncoalesced(const Subject& subject, const Kernel& kernel) {
  constexpr double kTolerated = 1.5;
  double sectors = 0, dense = 0, requests = 0;
  const Site* worst = nullptr;
  const auto excess = [](const Site& site) { return site.sectors - dense_sectors(site); };
  for (const Site& site : kernel.sites) {
    if (!moves_data(site)) continue;
    sectors += site.sectors;
    dense += dense_sectors(site);
    requests += site.requests;
    if (worst == nullptr || excess(site) > excess(*worst)) worst = &site;
  }
  if (worst == nullptr || sectors < kTolerated * dense) return std::nullopt;
  Advice advice = advice_at(subject, worst->party);
  advice.saw = fmt::format("global accesses touch {:.1f} sectors of 32 bytes a request where their bytes fill {:.1f}; the worst takes {:.1f} sectors for {:.0f} bytes",
                           sectors / requests, dense / requests, worst->sectors / worst->requests, worst->bytes / worst->requests);
  advice.try_this = "let neighbouring threads of a warp access neighbouring addresses: make the fastest index of the tensor the one that follows threadIdx.x, "
                    "or pass the tile through shared memory when input and output want different orders";
  Work work = kernel.work;
  work.line_passes = std::max(requests, dense / 4);
  work.l2_bytes = std::min(work.l2_bytes, dense * kSectorBytes);
  work.load_waits *= dense / sectors;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// Trigger: most bytes of dense accesses move in pieces of at most 4 bytes a thread.
// Gain: with 16 bytes a thread a quarter (or less) of the memory instructions, and as many more bytes in flight.
std::optional<Advice> vector_width(const Subject& subject, const Kernel& kernel) {
  constexpr double kNarrow = 4, kWide = 16;
  double all = 0, narrow = 0, requests = 0;
  const Site* most = nullptr;
  for (const Site& site : kernel.sites) {
    if (!moves_data(site) || site.threads == 0 || site.instruction_class == C::kAsyncCopy) continue;
    all += site.bytes;
    const bool dense = site.sectors <= 1.5 * dense_sectors(site) && site.bytes <= 1.1 * site.sectors * kSectorBytes;
    if (site.bytes / site.threads > kNarrow || !dense) continue;
    narrow += site.bytes;
    requests += site.requests;
    if (most == nullptr || site.bytes > most->bytes) most = &site;
  }
  if (most == nullptr || narrow < 0.5 * all) return std::nullopt;
  const double width = most->bytes / most->threads;
  Advice advice = advice_at(subject, most->party);
  advice.saw = fmt::format("{:.0f} % of the global bytes move {:.0f} bytes a thread at a time", 100 * narrow / all, width);
  advice.try_this = "move 16 bytes a thread (float4, uint4, or 8 halves reinterpreted) where rows are 16-byte aligned, and treat the ends of a row apart";
  Work work = kernel.work;
  const double saved = requests * (1 - width / kWide);
  work.line_passes = std::max(work.line_passes - saved, work.line_passes * 0.25);
  work.instructions[C::kLoad] = std::max(0.0, work.instructions[C::kLoad] - saved / 2);
  work.instructions[C::kInteger] = std::max(0.0, work.instructions[C::kInteger] - saved);
  work.load_waits *= width / kWide;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// Trigger: a quarter more wavefronts than accesses without conflicts need. Gain: without them.
std::optional<Advice> bank_conflicts(const Subject& subject, const Kernel& kernel) {
  double needed = 0, ideal = 0;
  const Site* worst = nullptr;
  const auto excess = [](const Site& site) { return site.wavefronts - site.ideal_wavefronts; };
  for (const Site& site : kernel.sites) {
    needed += site.wavefronts;
    ideal += site.ideal_wavefronts;
    if (site.wavefronts > 0 && (worst == nullptr || excess(site) > excess(*worst))) worst = &site;
  }
  if (worst == nullptr || needed < 1.25 * ideal) return std::nullopt;
  Advice advice = advice_at(subject, worst->party);
  advice.saw = fmt::format("shared memory takes {:.2f} times the wavefronts that it needs without bank conflicts; the worst access {:.1f} instead of {:.1f}",
                           needed / ideal, worst->wavefronts / std::max(1.0, worst->warps),
                           worst->ideal_wavefronts / std::max(1.0, worst->warps));
  advice.try_this = "pad the rows of the shared array (a row of 32 words → 33; of 16-byte pieces → one piece more), or permute the columns by the row (XOR swizzle)";
  Work work = kernel.work;
  work.shared_passes *= ideal / needed;
  work.shared_loads *= ideal / needed;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// How often a block asks global memory for the same bytes: by sectors, and by bytes (a broadcast is one sector).
double rereads(const Kernel& kernel) {
  const Totals& t = kernel.totals;
  return t.block_sectors <= 0 ? 0 : std::min(t.load_sectors / t.block_sectors, t.load_bytes / (t.block_sectors * kSectorBytes));
}

// Trigger: a block loads each byte from global memory four times or more. Gain: once from global memory, the other times
// from shared memory in 16-byte pieces, or from registers.
std::optional<Advice> shared_tiling(const Subject& subject, const Kernel& kernel) {
  constexpr double kOften = 4;
  const double times = rereads(kernel);
  if (times < kOften) return std::nullopt;
  const Site* most = nullptr;
  for (const Site& site : kernel.sites) {
    if (moves_data(site) && site.instruction_class == C::kLoad && (most == nullptr || site.sectors > most->sectors)) most = &site;
  }
  if (most == nullptr) return std::nullopt;
  Advice advice = advice_at(subject, most->party);
  advice.saw = fmt::format("a block loads the same bytes {:.0f} times from global memory", times);
  advice.try_this = "copy the tile that a block works on into shared memory once (coalesced, __syncthreads() before and after), let each thread compute several outputs "
                    "from registers, and read the rest from there";
  Work work = kernel.work;
  const double loads = kernel.totals.load_requests;
  work.line_passes -= loads * (1 - 1 / times);
  work.shared_passes += loads / 4;
  work.load_waits /= times;
  work.l2_bytes = std::min(work.l2_bytes, (kernel.totals.block_sectors + kernel.totals.store_sectors) * kSectorBytes);
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// Where the GPU's counters were read: what SMs fetched from L2 against what came from DRAM, and L2 is at half of its peak. Where L2 has two
// halves, sectors that pass from one to the other count as well: up to half of those from DRAM, little against eight times.
std::optional<Advice> measured_l2_reuse(const Subject& subject, const Kernel& kernel) {
  const HardwareCounters& h = *kernel.hardware;
  const double fetched = h.of(Counter::kL2Sectors) * kSectorBytes, read = h.of(Counter::kDramRead), busy = h.of(Counter::kL2Share);
  const double others = std::max({h.of(Counter::kDramShare), h.of(Counter::kComputeShare), h.of(Counter::kIssue)});
  if (read <= 0 || fetched < 8 * read || busy < 0.5 || busy < others) return std::nullopt;
  Advice advice = advice_at_launch(kernel);
  advice.saw = fmt::format("L2 works at {:.0f} % of its peak and delivers {:.2f} GB for {:.2f} GB read from DRAM: each byte {:.0f} times; {:.0f} % of the sectors are found in L1",
                           100 * busy, fetched * 1e-9, read * 1e-9, fetched / read, 100 * h.of(Counter::kL1Hits));
  advice.try_this = "give a block a larger tile (twice both sides halve the traffic), or let the blocks of a cluster share what they load";
  advice.gain = gain_of(subject, kernel, std::min(2.0, busy / std::max(others, 0.01)));
  return advice;
}

// Trigger: blocks fetch each byte from L2 eight times or more (each block once, in full sectors), and that is what takes
// the time.
// Gain: tiles twice as long and as wide halve the traffic.
std::optional<Advice> l2_reuse(const Subject& subject, const Kernel& kernel) {
  if (kernel.hardware && (*kernel.hardware)[Counter::kL2Share]) return measured_l2_reuse(subject, kernel);
  const Work& w = kernel.work;
  const double fetched = kernel.totals.block_sectors * kSectorBytes, asked = kernel.totals.load_bytes;
  if (!kernel.counted || w.dram_bytes <= 0 || fetched < 8 * w.dram_bytes || fetched > 1.5 * asked) return std::nullopt;
  const Time& t = kernel.time;
  if (t.seconds[Time::kL2] < 0.5 * *std::max_element(t.seconds.begin(), t.seconds.end())) return std::nullopt;
  Advice advice = advice_at_launch(kernel);
  advice.saw = fmt::format("L2 delivers {:.1f} GB for {:.2f} GB that must be read: each byte goes to {:.0f} blocks", fetched * 1e-9, w.dram_bytes * 1e-9,
                           fetched / w.dram_bytes);
  advice.try_this = "give a block a larger tile (twice both sides halve the traffic), or let the blocks of a cluster share what they load";
  Work work = w;
  work.l2_bytes /= 2;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// Trigger: arrays that the kernel indexes at run time lie in local memory (spills have their own tool).
// Gain: without the accesses.
std::optional<Advice> local_array(const Subject& subject, const Kernel& kernel) {
  const Totals& t = kernel.totals;
  const double requests = t.local_loads + t.local_stores, all = t.load_requests + t.store_requests + requests;
  if (requests == 0 || requests < 0.05 * all) return std::nullopt;
  const Site* most = nullptr;
  for (const Site& site : kernel.sites) {
    if (site.space == ptx::Space::kLocal && (most == nullptr || site.requests > most->requests)) most = &site;
  }
  if (most == nullptr) return std::nullopt;
  Advice advice = advice_at(subject, most->party);
  advice.saw = fmt::format("{:.0f} % of the accesses beyond the SM go to a local array ({} bytes a thread), which lies in memory, not in registers",
                           100 * requests / all, kernel.ptx.local_bytes);
  advice.try_this = "unroll the loops that index it, so that every index is a constant; or put it into shared memory";
  Work work = kernel.work;
  work.line_passes = std::max(0.0, work.line_passes - std::max(requests, t.local_sectors / 4));
  work.l2_bytes = std::max(0.0, work.l2_bytes - t.local_sectors * kSectorBytes);
  work.instructions[C::kLoad] = std::max(0.0, work.instructions[C::kLoad] - t.local_loads);
  work.instructions[C::kStore] = std::max(0.0, work.instructions[C::kStore] - t.local_stores);
  advice.gain = subject.gain(kernel, work);
  return advice;
}

}  // namespace

std::vector<Tool> memory_tools() {
  return {
      {"uncoalesced", "global accesses that touch more sectors than their bytes fill", kAll, uncoalesced},
      {"vector_width", "narrow pieces of long runs", kMemory | kLatency | kMixed, vector_width},
      {"bank_conflicts", "lanes that wait for each other at a bank of shared memory", kAll, bank_conflicts},
      {"shared_tiling", "the same bytes loaded from global memory again and again by a block", kAll, shared_tiling},
      {"l2_reuse", "tiles too small for what L2 can deliver", kAll, l2_reuse},
      {"local_array", "arrays in local memory", kAll, local_array},
  };
}

}  // namespace kw::profile
