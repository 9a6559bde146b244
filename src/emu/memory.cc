#include "emu/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace kw::emu {
namespace {

constexpr uint64_t kUnit = 256;                     // every range begins and ends on a multiple
constexpr uint64_t kGrowth = 8ull << 20;            // how far make_accessible runs ahead
constexpr uint64_t kMaxCapacity = 1ull << 42;

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Where to put the range. 32 TiB is free under Linux with and without AddressSanitizer; ThreadSanitizer
// only lets a program live in a few windows, of which the second candidate is one. Several memories in one
// process take successive slots.
void* reserve(uint64_t bytes) {
#if defined(__SANITIZE_THREAD__)
  constexpr uint64_t kCandidates[] = {0x7e80'0000'0000ull};
  constexpr uint64_t kStride = 1ull << 36;
  constexpr int kSlots = 16;
#else
  constexpr uint64_t kCandidates[] = {0x2000'0000'0000ull};
  constexpr uint64_t kStride = 1ull << 42;
  constexpr int kSlots = 8;
#endif
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  for (const uint64_t base : kCandidates) {
    for (int slot = 0; slot < kSlots; ++slot) {
      void* const wanted = reinterpret_cast<void*>(base + slot * kStride);
      void* const got = mmap(wanted, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
      if (got == wanted) return got;
      if (got != MAP_FAILED) munmap(got, bytes);      // a kernel that does not know the flag
    }
  }
  return mmap(nullptr, bytes, PROT_NONE, flags, -1, 0);
}

}  // namespace

Result<std::unique_ptr<Memory>> Memory::create(uint64_t capacity_bytes, bool track_initialised) {
  if (capacity_bytes == 0 || capacity_bytes > kMaxCapacity) {
    return fail(ErrorCode::kInvalid, "device memory of {} bytes: give a capacity between 1 and {} bytes",
                capacity_bytes, kMaxCapacity);
  }
  const uint64_t capacity = round_up(capacity_bytes, 1ull << 16);
  void* const base = reserve(capacity);
  if (base == MAP_FAILED) {
    return fail(ErrorCode::kLimit,
                "cannot reserve {} bytes of address space for device memory ({}); ask for less or raise the "
                "address-space limit (ulimit -v)",
                capacity, std::strerror(errno));
  }
  std::unique_ptr<Memory> memory(new Memory);
  memory->base_ = reinterpret_cast<uint64_t>(base);
  memory->capacity_ = capacity;
  // The first unit stays unused: the lowest address is nobody's.
  memory->next_ = memory->base_ + kUnit;
  memory->accessible_ = memory->base_;
  if (track_initialised) {
    void* const bits = mmap(nullptr, capacity / 8, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bits == MAP_FAILED) {
      return fail(ErrorCode::kLimit, "cannot reserve {} bytes for the initialised bits of device memory ({})",
                  capacity / 8, std::strerror(errno));
    }
    memory->initialised_ = static_cast<uint8_t*>(bits);
  }
  return memory;
}

Memory::~Memory() {
  if (base_ != 0) munmap(reinterpret_cast<void*>(base_), capacity_);
  if (initialised_ != nullptr) munmap(initialised_, capacity_ / 8);
}

Status Memory::make_accessible(uint64_t end) {
  if (end <= accessible_) return {};
  const uint64_t to = std::min(round_up(end - base_, kGrowth) + base_, base_ + capacity_);
  if (mprotect(reinterpret_cast<void*>(accessible_), to - accessible_, PROT_READ | PROT_WRITE) != 0) {
    return fail(ErrorCode::kLimit, "the operating system refused {} bytes of device memory: {}", to - accessible_,
                std::strerror(errno));
  }
  accessible_ = to;
  return {};
}

void Memory::add_free_range(uint64_t begin, uint64_t bytes) {
  if (bytes == 0) return;
  auto after = free_by_begin_.lower_bound(begin);
  if (after != free_by_begin_.end() && begin + bytes == after->first) {
    bytes += after->second;
    auto next = std::next(after);
    remove_free_range(after);
    after = next;
  }
  if (after != free_by_begin_.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      bytes += before->second;
      remove_free_range(before);
    }
  }
  if (begin + bytes == next_) {   // the tail goes back to the untouched end
    next_ = begin;
    return;
  }
  free_by_begin_.emplace(begin, bytes);
  free_by_size_.emplace(bytes, begin);
}

void Memory::remove_free_range(std::map<uint64_t, uint64_t>::iterator range) {
  free_by_size_.erase({range->second, range->first});
  free_by_begin_.erase(range);
}

Result<uint64_t> Memory::allocate(uint64_t bytes, std::string label, uint64_t align, bool read_only) {
  if (align == 0 || !std::has_single_bit(align) || align > capacity_) {
    return fail(ErrorCode::kInvalid, "allocation '{}': the alignment {} is not a power of two within the {} bytes of "
                "device memory", label, align, capacity_);
  }
  const uint64_t available = base_ + capacity_ - next_;
  if (bytes > capacity_) {
    return fail(ErrorCode::kLimit, "allocation '{}' of {} bytes does not fit: device memory has {} bytes, {} in use",
                label, bytes, capacity_, in_use_);
  }
  align = std::max(align, kUnit);
  const uint64_t extent = round_up(bytes, kUnit) + kGuardBytes;
  uint64_t begin = 0;
  for (auto it = free_by_size_.lower_bound({extent, 0}); it != free_by_size_.end(); ++it) {
    const uint64_t aligned = round_up(it->second, align);
    if (aligned + extent > it->second + it->first) continue;
    const auto [size, first] = *it;
    remove_free_range(free_by_begin_.find(first));
    add_free_range(first, aligned - first);
    add_free_range(aligned + extent, first + size - aligned - extent);
    begin = aligned;
    break;
  }
  if (begin == 0) {
    const uint64_t aligned = round_up(next_, align);
    if (aligned - next_ > available || extent > available - (aligned - next_)) {
      return fail(ErrorCode::kLimit, "allocation '{}' of {} bytes does not fit: device memory has {} bytes, {} in use",
                  label, bytes, capacity_, in_use_);
    }
    KW_TRY_VOID(make_accessible(aligned + extent));
    const uint64_t gap = next_;
    next_ = aligned + extent;
    add_free_range(gap, aligned - gap);
    begin = aligned;
  }
  allocations_.emplace(begin, Allocation{begin, begin + bytes, read_only, std::move(label)});
  extents_.emplace(begin, begin + extent);
  in_use_ += bytes;
  ++generation_;
  return begin;
}

Status Memory::free(uint64_t address) {
  const auto it = allocations_.find(address);
  if (it == allocations_.end()) {
    const Allocation* const holder = find(address);
    if (holder != nullptr) {
      return fail(ErrorCode::kInvalid, "free of {:#x}: it points {} bytes into '{}'; free the address that the "
                  "allocation returned", address, address - holder->begin, holder->label);
    }
    return fail(ErrorCode::kInvalid, "free of {:#x}: no allocation begins there (freed before?)", address);
  }
  const uint64_t bytes = it->second.end - it->second.begin;
  if (initialised_ != nullptr) mark_uninitialised(address, bytes);
  // The next owner reads zeros; whole pages go back to the system.
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t end = address + bytes;
  const uint64_t first_page = round_up(address, page), last_page = end / page * page;
  if (first_page < last_page && bytes >= 64 * page) {
    std::memset(reinterpret_cast<void*>(address), 0, first_page - address);
    std::memset(reinterpret_cast<void*>(last_page), 0, end - last_page);
    void* const pages = reinterpret_cast<void*>(first_page);   // afresh: repeat() may have put a file there
    if (mmap(pages, last_page - first_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
      std::memset(pages, 0, last_page - first_page);
    }
  } else {
    std::memset(reinterpret_cast<void*>(address), 0, bytes);
  }
  const auto extent = extents_.find(address);
  const uint64_t extent_bytes = extent->second - address;
  extents_.erase(extent);
  allocations_.erase(it);
  in_use_ -= bytes;
  ++generation_;
  add_free_range(address, extent_bytes);
  return {};
}

const Allocation* Memory::find(uint64_t address) const {
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return nullptr;
  --it;
  return address < it->second.end ? &it->second : nullptr;
}

const Allocation* Memory::nearest(uint64_t address) const {
  if (allocations_.empty()) return nullptr;
  const auto above = allocations_.upper_bound(address);
  if (above == allocations_.begin()) return &above->second;
  const auto below = std::prev(above);
  if (above == allocations_.end() || address < below->second.end) return &below->second;
  return address - below->second.end < above->first - address ? &below->second : &above->second;
}

Status Memory::check_range(uint64_t address, uint64_t bytes, const char* what) const {
  if (bytes == 0) return {};
  const Allocation* const holder = find(address);
  if (holder == nullptr) {
    const Allocation* const near = nearest(address);
    if (near == nullptr) {
      return fail(ErrorCode::kInvalid, "{} {} bytes at {:#x}: device memory has no allocation", what, bytes, address);
    }
    if (address < near->begin) {
      return fail(ErrorCode::kInvalid, "{} {} bytes at {:#x}: no allocation holds it; '{}' begins {} bytes after", what,
                  bytes, address, near->label, near->begin - address);
    }
    return fail(ErrorCode::kInvalid, "{} {} bytes at {:#x}: no allocation holds it; '{}' ended {} bytes before", what,
                bytes, address, near->label, address - near->end);
  }
  if (bytes > holder->end - address) {
    return fail(ErrorCode::kInvalid, "{} {} bytes at {:#x}: '{}' has {} bytes from there, {} too few", what, bytes,
                address, holder->label, holder->end - address, bytes - (holder->end - address));
  }
  return {};
}

Status Memory::write(uint64_t address, const void* data, uint64_t bytes) {
  KW_TRY_VOID(check_range(address, bytes, "writing"));
  if (bytes != 0) std::memmove(reinterpret_cast<void*>(address), data, bytes);
  mark_initialised(address, bytes);
  return {};
}

Status Memory::read(uint64_t address, void* data, uint64_t bytes) const {
  KW_TRY_VOID(check_range(address, bytes, "reading"));
  if (bytes != 0) std::memmove(data, reinterpret_cast<const void*>(address), bytes);
  return {};
}

Status Memory::fill(uint64_t address, const void* pattern, uint64_t pattern_bytes, uint64_t count) {
  if (pattern_bytes == 0 || count == 0) return {};
  if (count > capacity_ / pattern_bytes) {
    return fail(ErrorCode::kInvalid, "filling {} × {} bytes at {:#x}: more than device memory has", count,
                pattern_bytes, address);
  }
  const uint64_t bytes = pattern_bytes * count;
  KW_TRY_VOID(check_range(address, bytes, "filling"));
  auto* const to = reinterpret_cast<uint8_t*>(address);
  if (pattern_bytes == 1) {
    std::memset(to, *static_cast<const uint8_t*>(pattern), bytes);
  } else {
    std::memmove(to, pattern, pattern_bytes);
    for (uint64_t done = pattern_bytes; done < bytes;) {   // doubles what is there
      const uint64_t step = std::min(done, bytes - done);
      std::memcpy(to + done, to, step);
      done += step;
    }
  }
  mark_initialised(address, bytes);
  return {};
}

Status Memory::repeat(uint64_t address, uint64_t bytes, const void* tile, uint64_t tile_bytes) {
  KW_TRY_VOID(check_range(address, bytes, "filling"));
  if (bytes == 0 || tile_bytes == 0) return {};
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto* from = static_cast<const uint8_t*>(tile);
  if (address % page != 0 || tile_bytes % page != 0 || bytes < 2 * tile_bytes) {
    for (uint64_t at = 0; at < bytes; at += tile_bytes) std::memcpy(reinterpret_cast<void*>(address + at), from, std::min(tile_bytes, bytes - at));
    mark_initialised(address, bytes);
    return {};
  }
  struct File {   // mappings outlive it
    int fd = -1;
    ~File() { if (fd >= 0) close(fd); }
  } file{memfd_create("kw-tile", MFD_CLOEXEC)};
  bool good = file.fd >= 0;
  constexpr uint64_t kMappings = 4096;   // of a process, the system allows some tens of thousands
  const uint64_t whole = bytes / page * page, file_bytes = tile_bytes * (whole / tile_bytes / kMappings + 1);
  for (uint64_t done = 0; good && done < file_bytes;) {
    const ssize_t wrote = ::write(file.fd, from + done % tile_bytes, tile_bytes - done % tile_bytes);
    good = wrote > 0;
    if (good) done += static_cast<uint64_t>(wrote);
  }
  for (uint64_t at = 0; good && at < whole; at += file_bytes) {
    good = mmap(reinterpret_cast<void*>(address + at), std::min(file_bytes, whole - at), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, file.fd, 0) != MAP_FAILED;
  }
  if (!good) return fail(ErrorCode::kLimit, "the operating system refused to repeat {} bytes over {} bytes of device memory: {}", tile_bytes, bytes, std::strerror(errno));
  std::memcpy(reinterpret_cast<void*>(address + whole), from + whole % tile_bytes, bytes - whole);
  mark_initialised(address, bytes);
  return {};
}

Status Memory::restore(uint64_t address, uint64_t bytes) {
  KW_TRY_VOID(check_range(address, bytes, "restoring"));
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t first = round_up(address, page), last = (address + bytes) / page * page;
  if (first < last && madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0)
    return fail(ErrorCode::kLimit, "the operating system keeps {} bytes of device memory: {}", last - first, std::strerror(errno));
  return {};
}

Status Memory::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  KW_TRY_VOID(check_range(from, bytes, "copying from"));
  KW_TRY_VOID(check_range(to, bytes, "copying to"));
  if (bytes == 0 || to == from) return {};
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  if (initialised_ == nullptr) return {};
  const auto copy_bit = [&](uint64_t i) {
    const bool set = *initialised_bits(from + i) >> ((from + i) & 7) & 1;
    uint8_t& byte = *initialised_bits(to + i);
    const uint8_t bit = static_cast<uint8_t>(1u << ((to + i) & 7));
    byte = static_cast<uint8_t>(set ? byte | bit : byte & ~bit);
  };
  const bool backwards = to > from && to < from + bytes;
  if ((to & 7) == (from & 7)) {
    const uint64_t head = std::min(bytes, (8 - (to & 7)) & 7), whole = (bytes - head) / 8, tail = head + whole * 8;
    const auto middle = [&] {
      if (whole != 0) std::memmove(initialised_bits(to + head), initialised_bits(from + head), whole);
    };
    if (backwards) {
      for (uint64_t i = bytes; i-- > tail;) copy_bit(i);
      middle();
      for (uint64_t i = head; i-- > 0;) copy_bit(i);
    } else {
      for (uint64_t i = 0; i < head; ++i) copy_bit(i);
      middle();
      for (uint64_t i = tail; i < bytes; ++i) copy_bit(i);
    }
  } else if (backwards) {
    for (uint64_t i = bytes; i-- > 0;) copy_bit(i);
  } else {
    for (uint64_t i = 0; i < bytes; ++i) copy_bit(i);
  }
  return {};
}

void Memory::set_bits(uint64_t address, uint64_t bytes, bool value) {
  if (initialised_ == nullptr || bytes == 0) return;
  const uint64_t first = address - base_, last = first + bytes;   // in bits of initialised_
  const auto change = [&](uint64_t index, uint8_t mask) {
    std::atomic_ref<uint8_t> byte(initialised_[index]);
    if (value) {
      if ((byte.load(std::memory_order_relaxed) & mask) != mask) byte.fetch_or(mask, std::memory_order_relaxed);
    } else {
      byte.fetch_and(static_cast<uint8_t>(~mask), std::memory_order_relaxed);
    }
  };
  const uint64_t first_byte = first / 8, last_byte = (last - 1) / 8;
  const uint8_t head = static_cast<uint8_t>(0xffu << (first & 7));
  const uint8_t tail = static_cast<uint8_t>(0xffu >> (7 - ((last - 1) & 7)));
  if (first_byte == last_byte) {
    change(first_byte, head & tail);
    return;
  }
  change(first_byte, head);
  if (last_byte > first_byte + 1) std::memset(initialised_ + first_byte + 1, value ? 0xff : 0, last_byte - first_byte - 1);
  change(last_byte, tail);
}

void Memory::mark_initialised(uint64_t address, uint64_t bytes) { set_bits(address, bytes, true); }
void Memory::mark_uninitialised(uint64_t address, uint64_t bytes) { set_bits(address, bytes, false); }

bool Memory::all_initialised(uint64_t address, uint64_t bytes) const {
  if (initialised_ == nullptr) return true;
  for (uint64_t i = 0; i < bytes;) {
    const uint8_t have = std::atomic_ref<uint8_t>(*initialised_bits(address + i)).load(std::memory_order_relaxed);
    if (((address + i) & 7) == 0 && bytes - i >= 8) {
      if (have != 0xff) return false;
      i += 8;
    } else {
      if ((have >> ((address + i) & 7) & 1) == 0) return false;
      ++i;
    }
  }
  return true;
}

}  // namespace kw::emu
