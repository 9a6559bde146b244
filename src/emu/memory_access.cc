#include "emu/memory_access.h"

#include <algorithm>
#include <cstring>

#include "emu/object_name.h"

namespace kw::emu {
namespace {

using ptx::Space;

bool writes(Access how) {
  return how == Access::kWrite || how == Access::kAtomic || how == Access::kMatrixWrite || how == Access::kAsyncWrite;
}

const char* verb(Access how) {
  switch (how) {
    case Access::kAtomic: return "updates";
    case Access::kWrite:
    case Access::kMatrixWrite:
    case Access::kAsyncWrite: return "writes";
    case Access::kRead:
    case Access::kMatrixRead:
    case Access::kAsyncRead: break;
  }
  return "reads";
}

void fault(Warp& warp, const Insn& insn, int lane, Finding::Kind kind, Space space, uint64_t address, unsigned bytes,
           std::string object, int64_t object_offset, std::string message) {
  Finding finding;
  finding.kind = kind;
  finding.fatal = true;
  finding.space = space;
  finding.address = address;
  finding.bytes = bytes;
  finding.object = std::move(object);
  finding.object_offset = object_offset;
  finding.message = std::move(message);
  warp.block->fault(warp, insn, lane, std::move(finding));
}

void fault_misaligned(Warp& warp, const Insn& insn, int lane, Space space, Access how, uint64_t address,
                      unsigned bytes, unsigned alignment) {
  Finding place;
  place.space = space;
  place.address = address;
  name_object(warp, place);
  if (place.object.empty()) {
    if (const Allocation* const holder = warp.block->memory->nearest(address)) {
      place.object = holder->label;
      place.object_offset = static_cast<int64_t>(address - holder->begin);
    }
  }
  fault(warp, insn, lane, Finding::Kind::kMisaligned, space, address, bytes, std::move(place.object), place.object_offset,
        fmt::format("{} {} bytes at {:#x}, which is not a multiple of {} (it is {} past one)", verb(how), bytes, address,
                    alignment, address & (alignment - 1)));
}

// .shared and .local: [0, limit).
void fault_outside(Warp& warp, const Insn& insn, int lane, Space space, Access how, uint64_t offset, unsigned bytes,
                   uint64_t limit) {
  const char* const name = space == Space::kShared ? "shared memory" : "local memory";
  const bool straddles = offset < limit;
  Finding place;
  place.space = space;
  place.address = offset;
  name_object(warp, place);
  fault(warp, insn, lane, Finding::Kind::kOutOfBounds, space, offset, bytes, std::move(place.object), place.object_offset,
        fmt::format("{} {} bytes at offset {:#x} of {}, {} bytes past the end: {} has {} bytes", verb(how), bytes, offset,
                    name, straddles ? offset + bytes - limit : offset - limit,
                    space == Space::kShared ? "the block" : "the thread", limit));
}

void fault_global(Warp& warp, const Insn& insn, int lane, Space space, Access how, uint64_t address, unsigned bytes) {
  const Memory& memory = *warp.block->memory;
  const Allocation* const near = memory.nearest(address);
  std::string object, where;
  int64_t offset = 0;
  if (near == nullptr) {
    where = "there are no allocations";
  } else {
    object = near->label;
    offset = static_cast<int64_t>(address - near->begin);
    const uint64_t size = near->end - near->begin;
    if (address < 4096) {
      where = "a null pointer plus an offset";
    } else if (address < near->begin) {
      where = fmt::format("{} bytes before '{}' ({} bytes)", near->begin - address, object, size);
    } else if (address < near->end) {
      where = fmt::format("the last {} of them past the end of '{}' ({} bytes)", address + bytes - near->end, object,
                          size);
    } else {
      where = fmt::format("{} bytes past the end of '{}' ({} bytes)", address - near->end, object, size);
    }
  }
  fault(warp, insn, lane, Finding::Kind::kOutOfBounds, space, address, bytes, std::move(object), offset,
        fmt::format("{} {} bytes at {:#x}: {}", verb(how), bytes, address, where));
}

// True when every lane of `lanes` lies in [begin, begin + size) and on a multiple of `alignment`.
// Sums of sign bits instead of comparisons: the loop over all lanes vectorises without 64-bit compares.
inline bool all_within(const uint64_t* addresses, Mask lanes, uint64_t begin, uint64_t size, unsigned bytes,
                       unsigned alignment) {
  if (size < bytes) return false;
  const uint64_t limit = size - bytes;
  uint64_t outside = 0, low = 0;
  if (lanes == kFull) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t d = addresses[i] - begin;
      outside |= d | (limit - d);
      low |= addresses[i];
    }
  } else {
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
      const uint64_t a = addresses[__builtin_ctz(rest)], d = a - begin;
      outside |= d | (limit - d);
      low |= a;
    }
  }
  return (outside >> 63) == 0 && (low & (alignment - 1)) == 0;
}

// What a write is about to replace, so that a counter which lives in memory only is not taken for a standstill.
[[gnu::noinline]] void digest(BlockContext& block, const uint64_t* addresses, Mask lanes, unsigned bytes) {
  uint64_t hash = block.overwritten;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const uint64_t address = addresses[__builtin_ctz(rest)];
    for (unsigned at = 0; at < bytes; at += 8) {
      uint64_t old = 0;
      std::memcpy(&old, reinterpret_cast<const void*>(address + at), std::min(8u, bytes - at));
      hash = (hash ^ old ^ (address + at)) * 0x9fb21c651e98df25ull;
      hash ^= hash >> 29;
    }
  }
  block.overwritten = hash;
}

// The slow path of global, const and param: lane by lane, filling the cache.
bool check_global(Warp& warp, const Insn& insn, Space space, Access how, const uint64_t* addresses, Mask lanes,
                  unsigned bytes, unsigned alignment) {
  BlockContext& block = *warp.block;
  RangeCache::Entry& entry = block.ranges.entries[insn.source % RangeCache::kEntries];
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const uint64_t address = addresses[lane];
    if ((address & (alignment - 1)) != 0) {
      fault_misaligned(warp, insn, lane, space, how, address, bytes, alignment);
      return false;
    }
    if (address - entry.begin >= entry.bytes || entry.bytes - (address - entry.begin) < bytes) {
      const Allocation* const holder = block.memory->find(address);
      if (holder == nullptr || holder->end - address < bytes) {
        fault_global(warp, insn, lane, space, how, address, bytes);
        return false;
      }
      entry = {holder->begin, holder->end - holder->begin, holder->read_only};
    }
    if (writes(how) && entry.read_only) {
      const Allocation* const holder = block.memory->find(address);
      std::string label = holder != nullptr ? holder->label : std::string();
      const int64_t offset = static_cast<int64_t>(address - entry.begin);
      std::string message =
          fmt::format("{} {} bytes at offset {} of '{}', which is read-only", verb(how), bytes, offset, label);
      fault(warp, insn, lane, Finding::Kind::kWriteToReadOnly, space, address, bytes, std::move(label), offset,
            std::move(message));
      return false;
    }
  }
  return true;
}

bool resolve_global(Warp& warp, const Insn& insn, Space space, Access how, uint64_t* addresses, Mask lanes,
                    unsigned bytes, unsigned alignment) {
  BlockContext& block = *warp.block;
  const RangeCache::Entry& entry = block.ranges.entries[insn.source % RangeCache::kEntries];
  if ((entry.read_only && writes(how)) || !all_within(addresses, lanes, entry.begin, entry.bytes, bytes, alignment)) {
    if (!check_global(warp, insn, space, how, addresses, lanes, bytes, alignment)) return false;
  }
  if (block.observer != nullptr) block.observer->access(warp, insn, space, how, addresses, lanes, bytes);
  if (block.watched && writes(how)) [[unlikely]] digest(block, addresses, lanes, bytes);
  return true;
}

bool in_reserved_shared(const BlockContext& block, uint64_t offset, unsigned bytes) {
  return block.reserved_shared != 0 && offset >= block.reserved_shared && offset < block.shared_extent && block.shared_extent - offset >= bytes;
}

bool resolve_bounded(Warp& warp, const Insn& insn, Space space, Access how, uint64_t* addresses, Mask lanes,
                     unsigned bytes, unsigned alignment) {
  BlockContext& block = *warp.block;
  const bool shared = space == Space::kShared;
  const uint64_t limit = shared ? block.shared_bytes : warp.local_stride;
  if (!all_within(addresses, lanes, 0, limit, bytes, alignment)) {
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
      const int lane = __builtin_ctz(rest);
      uint64_t& offset = addresses[lane];
      // `mov` gives the generic address of a function's parameter (lowering.cc).
      if (!shared && offset - kLocalWindow < kLocalWindowBytes) offset -= kLocalWindow;
      if ((offset >= limit || limit - offset < bytes) && !(shared && in_reserved_shared(block, offset, bytes))) {
        fault_outside(warp, insn, lane, space, how, offset, bytes, limit);
        return false;
      }
      if ((offset & (alignment - 1)) != 0) {
        fault_misaligned(warp, insn, lane, space, how, offset, bytes, alignment);
        return false;
      }
    }
  }
  if (block.observer != nullptr) block.observer->access(warp, insn, space, how, addresses, lanes, bytes);
  if (shared) {
    const uint64_t base = reinterpret_cast<uint64_t>(block.shared);
    for (int i = 0; i < kLanes; ++i) addresses[i] += base;
  } else {
    const uint64_t base = reinterpret_cast<uint64_t>(warp.local);
    for (int i = 0; i < kLanes; ++i) addresses[i] += base + static_cast<uint64_t>(i) * warp.local_stride;
  }
  if (block.watched && writes(how)) [[unlikely]] digest(block, addresses, lanes, bytes);
  return true;
}

bool resolve_param(Warp& warp, const Insn& insn, Access how, uint64_t* addresses, Mask lanes, unsigned bytes,
                   unsigned alignment) {
  const BlockContext& block = *warp.block;
  Mask stacked = 0;
  for_lanes(lanes, [&](int i) { stacked |= static_cast<Mask>(addresses[i] - kLocalWindow < kLocalWindowBytes) << i; });
  if (stacked == lanes) return resolve_bounded(warp, insn, Space::kLocal, how, addresses, lanes, bytes, alignment);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    uint64_t& address = addresses[lane];
    if (address < block.param_bytes) address += block.param_base;   // an offset; else a device address
    const uint64_t offset = address - block.param_base;
    if (offset >= block.param_bytes || block.param_bytes - offset < bytes) {
      fault(warp, insn, lane, Finding::Kind::kOutOfBounds, Space::kParam, offset, bytes, "kernel parameters",
            static_cast<int64_t>(offset),
            fmt::format("{} {} bytes at offset {} of the kernel's {} bytes of parameters", verb(how), bytes, offset,
                        block.param_bytes));
      return false;
    }
  }
  return resolve_global(warp, insn, Space::kParam, how, addresses, lanes, bytes, alignment);
}

bool resolve_generic(Warp& warp, const Insn& insn, Access how, uint64_t* addresses, Mask lanes, unsigned bytes,
                     unsigned alignment) {
  Mask shared = 0, local = 0;
  for (int i = 0; i < kLanes; ++i) {
    shared |= static_cast<Mask>(addresses[i] - kSharedWindow < kSharedWindowBytes) << i;
    local |= static_cast<Mask>(addresses[i] - kLocalWindow < kLocalWindowBytes) << i;
  }
  shared &= lanes;
  local &= lanes;
  const Mask global = lanes & ~(shared | local);
  if (global == lanes) return resolve_global(warp, insn, Space::kGlobal, how, addresses, lanes, bytes, alignment);
  const auto part = [&](Space space, Mask some, uint64_t window) {
    if (some == 0) return true;
    uint64_t offsets[kLanes] = {};
    for_lanes(some, [&](int i) { offsets[i] = addresses[i] - window; });
    if (!resolve_bounded(warp, insn, space, how, offsets, some, bytes, alignment)) return false;
    for_lanes(some, [&](int i) { addresses[i] = offsets[i]; });
    return true;
  };
  return part(Space::kShared, shared, kSharedWindow) && part(Space::kLocal, local, kLocalWindow) &&
         (global == 0 || resolve_global(warp, insn, Space::kGlobal, how, addresses, global, bytes, alignment));
}

}  // namespace

void set_address(Insn& insn, Space space, const Lowering::Address& address) {
  AddressMode mode = AddressMode::kAbsolute;
  if (address.in_frame) {
    mode = AddressMode::kFrame;
  } else if (address.base != kNone) {
    mode = address.base_is_64 ? AddressMode::k64 : AddressMode::k32;
    insn.op[0] = address.base;
    insn.op_uses |= 1;
  }
  insn.imm = static_cast<uint64_t>(address.offset);
  insn.aux = (insn.aux & ~0xffu) | static_cast<uint32_t>(space) | static_cast<uint32_t>(mode) << 4;
}

Space space_named(std::string_view modifier) {
  if (modifier == "global") return Space::kGlobal;
  if (modifier == "shared" || modifier == "shared::cta" || modifier == "shared::cluster") return Space::kShared;
  if (modifier == "local") return Space::kLocal;
  if (modifier == "const") return Space::kConst;
  if (modifier == "param" || modifier == "param::entry" || modifier == "param::func") return Space::kParam;
  return Space::kNone;
}

bool resolve(Warp& warp, const Insn& insn, Space space, Access how, uint64_t* addresses, Mask lanes, unsigned bytes,
             unsigned alignment) {
  switch (space) {
    case Space::kGlobal:
    case Space::kConst: return resolve_global(warp, insn, space, how, addresses, lanes, bytes, alignment);
    case Space::kShared:
    case Space::kLocal: return resolve_bounded(warp, insn, space, how, addresses, lanes, bytes, alignment);
    case Space::kParam: return resolve_param(warp, insn, how, addresses, lanes, bytes, alignment);
    case Space::kNone:
    case Space::kReg:
    case Space::kTex: break;
  }
  return resolve_generic(warp, insn, how, addresses, lanes, bytes, alignment);
}

bool shared_offsets(Warp& warp, const Insn& insn, Space space, uint64_t* addresses, Mask lanes) {
  if (space == Space::kShared) return true;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const uint64_t offset = addresses[lane] - kSharedWindow;
    if (offset >= kSharedWindowBytes) {
      fault(warp, insn, lane, Finding::Kind::kInvalidOperand, Space::kShared, addresses[lane], 0, "", 0,
            fmt::format("the address {:#x} is not in shared memory; the instruction takes a shared address",
                        addresses[lane]));
      return false;
    }
    addresses[lane] = offset;
  }
  return true;
}

}  // namespace kw::emu
