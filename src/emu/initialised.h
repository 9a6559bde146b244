// Uninitialised reads (Options::check_uninitialised). Shared and local memory: one byte of shadow per byte, 0xff
// once written, so that a warp's reads are checked by wide comparisons. Global memory: the bits of Memory.
// A read is reported whatever becomes of the value. Internal to emu; one per block in flight.
#pragma once

#include <vector>

#include "emu/observer.h"

namespace kw::emu {

class Initialised {
 public:
  void begin(const BlockContext& block);
  // Call before the access happens.
  void access(Warp& warp, const Insn& insn, ptx::Space space, Access how, const uint64_t* addresses, Mask lanes,
              unsigned bytes);

 private:
  void report(Warp& warp, const Insn& insn, ptx::Space space, int lane, uint64_t address, unsigned bytes);
  std::vector<uint8_t> shared_;
  std::vector<std::vector<uint8_t>> local_;   // per warp, as Warp::local
};

}  // namespace kw::emu
