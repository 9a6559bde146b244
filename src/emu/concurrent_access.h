// Races of a launch with steps that have no order with it: another stream's, or the launch before it where programmatic
// order lets both run at once. Internal to emu; one per block in flight.
#pragma once

#include "emu/emulator.h"
#include "emu/observer.h"

namespace kw::emu {

class ConcurrentAccess {
 public:
  explicit ConcurrentAccess(const Options& options) : options_(options) {}
  void begin() { waited_ = false; }
  // One thread's wait counts for its block: the others follow it through a barrier.
  void grid_dependency(bool wait);
  void access(Warp& warp, const Insn& insn, uint8_t site_flags, Access how, const uint64_t* addresses, Mask lanes, unsigned bytes);

 private:
  const Options& options_;
  bool waited_ = false;
};

}  // namespace kw::emu
