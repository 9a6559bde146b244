// Device addresses that exist only to be recognised. Each buffer lies in a part of the address space where the
// process has nothing mapped, so host code that follows such a pointer faults, and far from its neighbours, so a
// pointer beside a buffer still says which one it belongs to. Two spaces with different seeds share no address.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace kw::runtime {

class AddressSpace {
 public:
  explicit AddressSpace(uint64_t seed);

  // `target` with offset 0: what the new range stands for. 0 when the space is full.
  uint64_t place(uint64_t bytes, const plan::Address& target);
  // The place an address means, in or near (within kSlack) a range.
  std::optional<plan::Address> resolve(uint64_t address) const;
  struct Range {
    uint64_t begin = 0, bytes = 0;
    plan::Address target;
  };
  const Range* find(uint64_t address) const;   // in or near

  // Finds every address inside `block`, zeroes its bytes and lists it. Addresses at multiples of 8 win over
  // unaligned ones that overlap them.
  std::vector<plan::Relocation> extract(std::span<uint8_t> block) const;

  static constexpr uint64_t kSlack = uint64_t{1} << 29;

 private:
  uint64_t next_, end_, random_;
  std::map<uint64_t, Range> ranges_;
};

}  // namespace kw::runtime
