// What a block in flight tells about itself while it runs with checks or counters: every memory access,
// every synchronisation. The observer turns that into race and initialisation findings and memory
// counters (race.cc, initialised.cc, count_access.cc). Internal to emu; one Observer per block in flight,
// shared state between blocks only through GlobalShadow, whose outcome does not depend on thread order.
#pragma once

#include <cstdint>
#include <span>

#include "emu/warp.h"

namespace kw::emu {

enum class Access : uint8_t {
  kRead, kWrite, kAtomic,          // kAtomic: atom, red (ordered with each other, not with plain accesses)
  kMatrixRead, kMatrixWrite,       // ldmatrix, stmatrix, wmma: addresses are rows, one per active entry
  kAsyncWrite, kAsyncRead,         // the two sides of cp.async, made by the asynchronous agent
};

struct Observer {
  virtual ~Observer() = default;
  // `addresses[i]` for each i in `lanes`: offset for .shared and .local, device address for .global.
  // Called before the access happens; `bytes` per lane.
  virtual void access(Warp&, const Insn&, ptx::Space, Access, const uint64_t* addresses, Mask lanes,
                      unsigned bytes) = 0;
  // A CTA barrier completed: every thread of `arrived` (one mask per warp) is ordered before every thread
  // of `waited`. `whole_block`: all live threads of the block took part as waiters.
  virtual void barrier(BlockContext&, uint32_t barrier_id, std::span<const Mask> arrived,
                       std::span<const Mask> waited, bool whole_block) = 0;
  virtual void warp_sync(Warp&, Mask lanes) = 0;        // bar.warp.sync and collectives with a membermask
  virtual void fence(Warp&, const Insn&, int scope) = 0;  // 0 cta, 1 cluster, 2 gpu, 3 sys
  virtual void grid_sync(BlockContext&) = 0;             // cooperative grid barrier passed
  // cp.async: `group_commit` closes the lanes' current group; `group_wait` publishes all but the newest
  // `pending` groups of each lane to that lane.
  virtual void group_commit(Warp&, Mask lanes) = 0;
  virtual void group_wait(Warp&, Mask lanes, uint32_t pending) = 0;
  virtual void block_begin(BlockContext&) = 0;
  virtual void block_end(BlockContext&) = 0;
};

}  // namespace kw::emu
