#include "emu/count_access.h"

#include <algorithm>
#include <bit>

#include "emu/memory_access.h"

namespace kw::emu {
namespace {

using ptx::Space;

uint32_t distinct(uint64_t* values, int count) {
  std::sort(values, values + count);
  return static_cast<uint32_t>(std::unique(values, values + count) - values);
}

// Word w of lane i lies at (w * 32 + i) * 4.
uint32_t count_local_sectors(const uint64_t* offsets, Mask lanes, unsigned bytes) {
  const unsigned words = std::max(1u, bytes / 4);
  uint64_t sectors[kLanes];
  uint32_t total = 0;
  for (unsigned k = 0; k < words; ++k) {
    int count = 0;
    for_lanes(lanes, [&](int i) { sectors[count++] = (offsets[i] / 4 + k) * 4 + static_cast<uint64_t>(i) / 8; });
    total += distinct(sectors, count);
  }
  return total;
}

struct Direction { uint64_t &requests, &bytes, &sectors, &wavefronts, &ideal; };

Direction loads(SpaceCounters& c) {
  return {c.load_requests, c.load_bytes, c.sectors_load, c.wavefronts_load, c.ideal_wavefronts_load};
}
Direction stores(SpaceCounters& c) {
  return {c.store_requests, c.store_bytes, c.sectors_store, c.wavefronts_store, c.ideal_wavefronts_store};
}

// Aligned pieces of memory of that many bytes that a request touches; no lane touches more than two.
template <unsigned kUnit>
uint32_t count_units(const uint64_t* addresses, Mask lanes, unsigned bytes) {
  if (are_consecutive(addresses, lanes, bytes)) {
    return static_cast<uint32_t>((addresses[kLanes - 1] + bytes - 1) / kUnit - addresses[0] / kUnit + 1);
  }
  uint64_t units[2 * kLanes];
  int count = 0;
  for_lanes(lanes, [&](int i) {
    const uint64_t first = addresses[i] / kUnit, last = (addresses[i] + bytes - 1) / kUnit;
    if (count == 0 || units[count - 1] != first) units[count++] = first;
    if (last != first) units[count++] = last;
  });
  return distinct(units, count);
}

}  // namespace

uint32_t count_sectors(const uint64_t* addresses, Mask lanes, unsigned bytes) { return count_units<32>(addresses, lanes, bytes); }
uint32_t count_lines(const uint64_t* addresses, Mask lanes, unsigned bytes) { return count_units<128>(addresses, lanes, bytes); }

Wavefronts count_wavefronts(const uint64_t* offsets, Mask lanes, unsigned bytes) {
  if (bytes >= 4 && are_consecutive(offsets, lanes, bytes) && offsets[0] % 128 == 0) {
    const uint32_t passes = bytes / 4;
    return {passes, passes};
  }
  const unsigned unit = std::clamp(bytes, 4u, 16u);          // what one lane takes from the banks at once
  const unsigned banks = 128 / unit, group = 128 / unit;     // units per pass, lanes per group
  const auto shift = static_cast<unsigned>(std::countr_zero(unit));
  Wavefronts result;
  for (unsigned first = 0; first < kLanes; first += group) {
    const Mask members = lanes & (group == 32 ? kFull : ((1u << group) - 1) << first);
    if (members == 0) continue;
    result.ideal += 1;
    uint32_t taken = 0;                                      // one lane per bank: no need to look closer
    if (lanes == kFull) {
      for (unsigned i = first; i < first + group; ++i) taken |= 1u << (offsets[i] >> shift & (banks - 1));
    } else {
      for_lanes(members, [&](int i) { taken |= 1u << (offsets[i] >> shift & (banks - 1)); });
    }
    if (std::popcount(taken) == std::popcount(members)) {
      result.needed += 1;
      continue;
    }
    uint64_t seen[32][32];
    uint8_t count[32] = {};
    uint8_t worst = 0;
    for_lanes(members, [&](int i) {
      const uint64_t word = offsets[i] / unit;
      const unsigned bank = word % banks;
      for (unsigned k = 0; k < count[bank]; ++k) {
        if (seen[bank][k] == word) return;
      }
      seen[bank][count[bank]++] = word;
      worst = std::max(worst, count[bank]);
    });
    result.needed += worst;
  }
  return result;
}

AccessCount count_access(Counters& counters, Space space, Access how, const uint64_t* addresses, Mask lanes, unsigned bytes) {
  AccessCount added{static_cast<uint64_t>(std::popcount(lanes)) * bytes, 0, 0, 0};
  if (how == Access::kAsyncRead) {
    added.sectors = count_sectors(addresses, lanes, bytes);
    counters.cp_async_global_bytes += added.bytes;
    counters.cp_async_sectors += added.sectors;
    return added;
  }
  SpaceCounters* of = nullptr;
  switch (space) {
    case Space::kShared:
      of = how == Access::kMatrixRead ? &counters.ldmatrix : how == Access::kAsyncWrite ? &counters.cp_async : &counters.shared;
      break;
    case Space::kLocal: of = &counters.local; break;
    case Space::kConst: of = &counters.constant; break;
    case Space::kParam: of = &counters.param; break;
    case Space::kGlobal:
    case Space::kNone:
    case Space::kReg:
    case Space::kTex: of = &counters.global; break;
  }
  if (how == Access::kAtomic) {
    ++of->atomic_requests;
    of->atomic_bytes += added.bytes;
    return added;
  }
  const bool reads = how == Access::kRead || how == Access::kMatrixRead;
  const Direction direction = reads ? loads(*of) : stores(*of);
  ++direction.requests;
  direction.bytes += added.bytes;
  if (space == Space::kShared) {
    const Wavefronts passes = count_wavefronts(addresses, lanes, bytes);
    added.wavefronts = passes.needed;
    added.ideal_wavefronts = passes.ideal;
  } else if (space == Space::kLocal) {
    added.sectors = count_local_sectors(addresses, lanes, bytes);
  } else if (space == Space::kGlobal || space == Space::kNone) {
    added.sectors = count_sectors(addresses, lanes, bytes);
  }
  direction.wavefronts += added.wavefronts;
  direction.ideal += added.ideal_wavefronts;
  direction.sectors += added.sectors;
  return added;
}

}  // namespace kw::emu
