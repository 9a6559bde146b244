// The emulated device's global memory: one reserved range of the host's address space in which a device
// address *is* the host address (so managed and mapped memory need no translation).
// The range lies at the same place in every run, so addresses (and findings) repeat. Allocations are
// separated by guard gaps of at least kGuardBytes; every access of a kernel is checked against them. A fresh
// allocation reads as zero. With `track_initialised`, one bit per byte says whether it was ever written.
// Thread-safety: allocate/free/copy from one thread at a time; reads, writes and lookups of different
// bytes from many (mark_initialised of bytes that share a group of eight is atomic).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"

namespace kw::emu {

struct Allocation {
  uint64_t begin = 0, end = 0;      // [begin, end)
  bool read_only = false;           // stores by kernels are findings
  std::string label;                // "x", "workspace 0", "params", variable name, …
};

class Memory {
 public:
  static constexpr uint64_t kGuardBytes = 256;

  // Reserves `capacity_bytes` of address space (not memory).
  static Result<std::unique_ptr<Memory>> create(uint64_t capacity_bytes, bool track_initialised);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // `align`: a power of two. A zero-byte allocation has an address of its own and no bytes.
  Result<uint64_t> allocate(uint64_t bytes, std::string label, uint64_t align = 256, bool read_only = false);
  Status free(uint64_t address);
  // Host-side access; all mark or copy the initialised bits. Errors name the allocation and the excess.
  Status write(uint64_t address, const void* data, uint64_t bytes);
  Status read(uint64_t address, void* data, uint64_t bytes) const;
  Status fill(uint64_t address, const void* pattern, uint64_t pattern_bytes, uint64_t count);
  Status copy(uint64_t to, uint64_t from, uint64_t bytes);   // ranges may overlap
  // Fills with `tile`, over and over. Where that is whole pages and more than one tile, it costs the memory of a tile (of a part in 4096, if that is
  // more), and of the pages that are written later.
  Status repeat(uint64_t address, uint64_t bytes, const void* tile, uint64_t tile_bytes);
  // Whole pages in the range get back what repeat() put there, else zeros, and cost nothing again. Bits of initialised bytes stay.
  Status restore(uint64_t address, uint64_t bytes);
  void mark_initialised(uint64_t address, uint64_t bytes);
  void mark_uninitialised(uint64_t address, uint64_t bytes);   // poison again
  bool all_initialised(uint64_t address, uint64_t bytes) const;   // true when bits are not tracked

  const Allocation* find(uint64_t address) const;      // the allocation that holds the byte, or null
  const Allocation* nearest(uint64_t address) const;   // for messages; null when there are none
  bool tracks_initialised() const { return initialised_ != nullptr; }
  uint8_t* initialised_bits(uint64_t address) const {  // byte that holds the bit of `address`; bit = address & 7
    return initialised_ + (address - base_) / 8;
  }
  uint64_t base() const { return base_; }
  uint64_t capacity() const { return capacity_; }
  uint64_t bytes_in_use() const { return in_use_; }
  // Changes whenever the set of allocations does: lets lanes cache a lookup.
  uint64_t generation() const { return generation_; }

 private:
  Memory() = default;
  Status check_range(uint64_t address, uint64_t bytes, const char* what) const;
  Status make_accessible(uint64_t end);
  void add_free_range(uint64_t begin, uint64_t bytes);
  void remove_free_range(std::map<uint64_t, uint64_t>::iterator range);
  void set_bits(uint64_t address, uint64_t bytes, bool value);

  uint64_t base_ = 0, capacity_ = 0, in_use_ = 0, generation_ = 1;
  uint64_t next_ = 0;                                  // everything below was handed out once
  uint64_t accessible_ = 0;                            // [base_, accessible_) may be touched
  uint8_t* initialised_ = nullptr;
  std::map<uint64_t, Allocation> allocations_;         // by begin
  std::map<uint64_t, uint64_t> extents_;               // by begin: end of the range it occupies, guard included
  std::map<uint64_t, uint64_t> free_by_begin_;         // begin -> bytes, coalesced
  std::set<std::pair<uint64_t, uint64_t>> free_by_size_;   // (bytes, begin): best fit, lowest address first
};

}  // namespace kw::emu
