// Shadow of global memory: what a race check knows of each unit of 32, 4 or 1 bytes. The units of a page are as fine as
// the accesses to it needed so far. Internal to emu. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kw::emu {

// Base-two logarithm of the largest unit that [begin, end) is whole numbers of.
inline uint8_t unit_shift(uint64_t begin, uint64_t end) {
  return (begin | end) % 32 == 0 ? 5 : (begin | end) % 4 == 0 ? 2 : 0;
}

// Value names an access; 0 names none.
template <typename Value>
class UnitShadow {
 public:
  struct Unit { Value write = 0, first_read = 0, last_read = 0; };

  // see(unit, its address, its bytes) for the units of [begin, end), which must be used before the next call.
  template <typename F>
  void for_units(uint64_t begin, uint64_t end, F&& see) {
    const uint8_t needed = unit_shift(begin, end);
    while (begin < end) {
      const uint64_t number = begin / kPageBytes, stop = std::min(end, (number + 1) * kPageBytes);
      Page& page = pages_[number];
      if (page.units.empty()) {
        page.shift = needed;
        page.units.resize(kPageBytes >> needed);
      } else if (page.shift > needed) {
        refine(page, needed);
      }
      const uint32_t unit_bytes = 1u << page.shift;
      for (uint64_t at = begin; at < stop; at += unit_bytes) {
        see(page.units[at % kPageBytes >> page.shift], at, unit_bytes);
      }
      begin = stop;
    }
  }
  size_t pages() const { return pages_.size(); }
  void clear() { pages_.clear(); }

 private:
  static constexpr uint64_t kPageBytes = 4096;
  struct Page {
    uint8_t shift = 5;
    std::vector<Unit> units;
  };
  // What a unit knows holds for its parts.
  static void refine(Page& page, uint8_t shift) {
    const size_t split = size_t{1} << (page.shift - shift);
    std::vector<Unit> finer;
    finer.reserve(page.units.size() * split);
    for (const Unit& unit : page.units) finer.insert(finer.end(), split, unit);
    page.units = std::move(finer);
    page.shift = shift;
  }

  std::unordered_map<uint64_t, Page> pages_;   // by address / kPageBytes
};

}  // namespace kw::emu
