// How memory instructions (ld, st, atom, cp.async, ldmatrix, wmma) get from an address operand to host
// memory they may touch: address computation, window dispatch of generic addresses, bounds, alignment,
// observation. Internal to emu.
// Contract: after resolve() returned true, `bytes` at every resolved address of the given lanes may be read
// or written; when it returned false the block has been stopped with a finding and nothing may be touched.
#pragma once

#include "emu/lane_addresses.h"
#include "emu/lowering.h"
#include "emu/observer.h"
#include "emu/warp.h"

namespace kw::emu {

// Low byte of Insn::aux of every instruction whose address is op[0] + imm.
enum class AddressMode : uint8_t { kAbsolute, kFrame, k32, k64 };
inline constexpr uint32_t kAddressBits = 8;
inline ptx::Space space_of(const Insn& insn) { return static_cast<ptx::Space>(insn.aux & 0xf); }
inline AddressMode mode_of(const Insn& insn) { return static_cast<AddressMode>(insn.aux >> 4 & 0x3); }

// Fills op[0], imm and the low byte of aux, and marks op[0] as read.
void set_address(Insn& insn, ptx::Space space, const Lowering::Address& address);

// The state space named by a modifier ("global", "shared::cta", "param::entry"); kNone when it names none.
ptx::Space space_named(std::string_view modifier);

// Addresses of all 32 lanes in the instruction's space (kNone: generic), active or not.
inline void compute_addresses(Warp& warp, const Insn& insn, uint64_t* out) {
  const uint64_t offset = insn.imm;
  switch (mode_of(insn)) {
    case AddressMode::k64: {
      const uint64_t* const base = warp.reg<uint64_t>(insn.op[0]);
      for (int i = 0; i < kLanes; ++i) out[i] = base[i] + offset;
      break;
    }
    case AddressMode::k32: {
      const uint32_t* const base = warp.reg<uint32_t>(insn.op[0]);
      const uint32_t low = static_cast<uint32_t>(offset);
      for (int i = 0; i < kLanes; ++i) out[i] = base[i] + low;   // wraps at 32 bits
      break;
    }
    case AddressMode::kFrame:
      for (int i = 0; i < kLanes; ++i) out[i] = warp.local_frame + offset;
      break;
    case AddressMode::kAbsolute:
      for (int i = 0; i < kLanes; ++i) out[i] = offset;
      break;
  }
}

// addresses: in, of `space` (kNone: generic); out, host addresses. `alignment` is usually `bytes`.
// Tells the observer.
bool resolve(Warp& warp, const Insn& insn, ptx::Space space, Access how, uint64_t* addresses, Mask lanes,
             unsigned bytes, unsigned alignment);
inline bool resolve(Warp& warp, const Insn& insn, Access how, uint64_t* addresses, Mask lanes, unsigned bytes) {
  const ptx::Space space = mode_of(insn) == AddressMode::kFrame ? ptx::Space::kLocal : space_of(insn);
  return resolve(warp, insn, space, how, addresses, lanes, bytes, bytes);
}

// Offset in shared memory of a generic or shared address, for instructions that demand shared memory
// (mbarrier, cp.async destinations). False: faulted.
bool shared_offsets(Warp& warp, const Insn& insn, ptx::Space space, uint64_t* addresses, Mask lanes);

}  // namespace kw::emu
