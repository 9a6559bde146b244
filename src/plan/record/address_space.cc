#include "plan/record/address_space.h"

#include <algorithm>
#include <cstring>

namespace kw::runtime {
namespace {

// Above the programs that are loaded low, below the ones loaded high (0x5555…, 0x7f…), with top bytes that
// no small integer, float pair or text has.
constexpr uint64_t kBases[2] = {0x2a51'37c0'0000, 0x3b97'59a0'0000};
constexpr uint64_t kExtent = uint64_t{16} << 40;
constexpr uint64_t kAlign = 256;

}  // namespace

AddressSpace::AddressSpace(uint64_t seed)
    : next_(kBases[seed & 1]), end_(kBases[seed & 1] + kExtent), random_(seed * 0x9e3779b97f4a7c15 + 1) {}

uint64_t AddressSpace::place(uint64_t bytes, const plan::Address& target) {
  random_ = random_ * 6364136223846793005 + 1442695040888963407;
  const uint64_t begin = next_ + 2 * kSlack + (random_ >> 52) * kAlign;
  if (bytes > kExtent || begin + bytes > end_ - 2 * kSlack) return 0;
  next_ = (begin + bytes + kAlign - 1) / kAlign * kAlign;
  ranges_[begin] = {begin, bytes, target};
  return begin;
}

const AddressSpace::Range* AddressSpace::find(uint64_t address) const {
  auto it = ranges_.upper_bound(address + kSlack);
  if (it == ranges_.begin()) return nullptr;
  const Range& range = std::prev(it)->second;
  return address <= range.begin + range.bytes + kSlack ? &range : nullptr;
}

std::optional<plan::Address> AddressSpace::resolve(uint64_t address) const {
  const Range* range = find(address);
  if (range == nullptr) return std::nullopt;
  plan::Address target = range->target;
  target.offset += static_cast<int64_t>(address - range->begin);
  return target;
}

std::vector<plan::Relocation> AddressSpace::extract(std::span<uint8_t> block) const {
  std::vector<plan::Relocation> found;
  const auto scan = [&](bool aligned) {
    for (size_t offset = 0; offset + 8 <= block.size(); offset += aligned ? 8 : 1) {
      if (!aligned && offset % 8 == 0) continue;
      uint64_t value;
      std::memcpy(&value, block.data() + offset, 8);
      const auto target = value == 0 ? std::nullopt : resolve(value);
      if (!target) continue;
      std::memset(block.data() + offset, 0, 8);   // so that no overlapping word can match
      found.push_back({static_cast<uint32_t>(offset), *target});
    }
  };
  scan(true);
  scan(false);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return found;
}

}  // namespace kw::runtime
