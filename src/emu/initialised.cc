#include "emu/initialised.h"

#include <algorithm>
#include <cstring>

#include "emu/memory_access.h"
#include "emu/object_name.h"

namespace kw::emu {
namespace {

using ptx::Space;

bool all_set(const uint8_t* shadow, unsigned bytes) {
  switch (bytes) {
    case 4: {
      uint32_t v;
      std::memcpy(&v, shadow, 4);
      return v == 0xffffffffu;
    }
    case 16: {
      uint64_t v[2];
      std::memcpy(v, shadow, 16);
      return (v[0] & v[1]) == ~0ull;
    }
    default: {
      uint8_t all = 0xff;
      for (unsigned i = 0; i < bytes; ++i) all &= shadow[i];
      return all == 0xff;
    }
  }
}

bool reads(Access how) {
  return how == Access::kRead || how == Access::kMatrixRead || how == Access::kAsyncRead || how == Access::kAtomic;
}

}  // namespace

void Initialised::begin(const BlockContext& block) {
  shared_.assign(block.shared_extent, 0);
  if (block.reserved_shared != 0) std::fill(shared_.begin() + block.reserved_shared, shared_.end(), 0xff);   // not the kernel's to write first
  for (std::vector<uint8_t>& bytes : local_) std::fill(bytes.begin(), bytes.end(), 0);
  local_.resize(block.warps.size());
}

void Initialised::report(Warp& warp, const Insn& insn, Space space, int lane, uint64_t address, unsigned bytes) {
  Finding finding;
  finding.kind = Finding::Kind::kUninitialisedRead;
  finding.space = space;
  finding.address = address;
  finding.bytes = bytes;
  finding.message = fmt::format("reads {} bytes at {} that nobody wrote", bytes, name_object(warp, finding));
  warp.block->report(warp, insn, lane, std::move(finding));
}

void Initialised::access(Warp& warp, const Insn& insn, Space space, Access how, const uint64_t* addresses, Mask lanes,
                         unsigned bytes) {
  const bool read = reads(how), write = !read || how == Access::kAtomic;
  if (space == Space::kGlobal) {
    Memory& memory = *warp.block->memory;
    if (!memory.tracks_initialised()) return;
    if (are_consecutive(addresses, lanes, bytes)) {
      const bool fine = !read || memory.all_initialised(addresses[0], uint64_t{bytes} * kLanes);
      if (write) memory.mark_initialised(addresses[0], uint64_t{bytes} * kLanes);
      if (fine) return;
    }
    for_lanes(lanes, [&](int i) {
      if (read && !memory.all_initialised(addresses[i], bytes)) report(warp, insn, space, i, addresses[i], bytes);
      if (write) memory.mark_initialised(addresses[i], bytes);
    });
    return;
  }
  uint8_t* base = nullptr;
  uint64_t stride = 0;
  if (space == Space::kShared) {
    base = shared_.data();
  } else if (space == Space::kLocal) {
    std::vector<uint8_t>& local = local_[warp.index];
    if (local.empty()) local.assign(size_t{warp.local_stride} * kLanes, 0);
    base = local.data();
    stride = warp.local_stride;
  } else {
    return;
  }
  bool fine = !read;
  if (read && bytes == 16 && lanes == kFull) {   // all rows at once
    uint64_t all = ~0ull;
    for (int i = 0; i < kLanes; ++i) {
      uint64_t v[2];
      std::memcpy(v, base + i * stride + addresses[i], 16);
      all &= v[0] & v[1];
    }
    fine = all == ~0ull;
  }
  if (!fine) {
    for_lanes(lanes, [&](int i) {
      if (!all_set(base + i * stride + addresses[i], bytes)) report(warp, insn, space, i, addresses[i], bytes);
    });
  }
  if (!write) return;
  if (bytes == 16) {
    for_lanes(lanes, [&](int i) { std::memset(base + i * stride + addresses[i], 0xff, 16); });
  } else {
    for_lanes(lanes, [&](int i) { std::memset(base + i * stride + addresses[i], 0xff, bytes); });
  }
}

}  // namespace kw::emu
