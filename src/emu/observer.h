// What a block in flight tells about itself while it runs with checks or counters: every memory access,
// every synchronisation. The observer turns that into race and initialisation findings and memory
// counters (race.h, initialised.cc, count_access.cc; docs/design/checks.md says how).
// Internal to emu. One LaunchObserver per launch, one Observer per block in flight (used again for the next
// block of the same host thread); blocks share state only through the launch's GlobalShadow, whose outcome
// does not depend on thread order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "emu/warp.h"

namespace kw::emu {

enum class Access : uint8_t {
  kRead, kWrite, kAtomic,          // kAtomic: atom, red (ordered with each other, not with plain accesses)
  kMatrixRead, kMatrixWrite,       // ldmatrix, stmatrix, wmma: addresses are rows, one per active entry
  kAsyncWrite, kAsyncRead,         // the two sides of cp.async, made by the asynchronous agent
};

struct Observer {
  virtual ~Observer() = default;
  // `addresses[i]` for each i in `lanes`: offset for .shared and .local, device address for .global, .const
  // and .param. Called before the access happens, after its bounds were checked; `bytes` per lane.
  virtual void access(Warp&, const Insn&, ptx::Space, Access, const uint64_t* addresses, Mask lanes,
                      unsigned bytes) = 0;
  // A call copied arguments or results into a frame: `bytes` at these offsets of the lanes' local memory are written.
  virtual void passed(Warp&, const Insn&, const uint64_t* offsets, Mask lanes, unsigned bytes) = 0;
  // A CTA barrier completed: every thread of `arrived` (one mask per warp) is ordered before every thread
  // of `waited`. `whole_block`: all live threads of the block took part as waiters.
  virtual void barrier(BlockContext&, uint32_t barrier_id, std::span<const Mask> arrived,
                       std::span<const Mask> waited, bool whole_block) = 0;
  // bar.warp.sync, and other collectives that all lanes of the warp execute at one instruction.
  virtual void warp_sync(Warp&, Mask lanes) = 0;
  virtual void fence(Warp&, const Insn&, int scope) = 0;  // 0 cta, 1 cluster, 2 gpu, 3 sys
  // cp.async: `group_commit` closes the lanes' current group; `group_wait` publishes all but the newest
  // `pending` groups of each lane to that lane. wait_all is group_commit and group_wait(…, 0).
  virtual void group_commit(Warp&, Mask lanes) = 0;
  virtual void group_wait(Warp&, Mask lanes, uint32_t pending) = 0;
  // mbarrier objects in shared memory, by offset. An arrival releases, a wait that saw its phase complete
  // acquires what the arrivals of that phase released. `with_copies`: cp.async.mbarrier.arrive, which
  // releases the lanes' earlier cp.async writes.
  virtual void mbarrier_arrive(Warp&, uint32_t offset, Mask lanes, bool with_copies) = 0;
  virtual void mbarrier_wait(Warp&, uint32_t offset, Mask lanes) = 0;
  // griddepcontrol: the launch before this one has ended (wait), or the next may begin (launch_dependents).
  virtual void grid_dependency(Warp&, bool wait) = 0;
  virtual void block_begin(BlockContext&) = 0;
  virtual void block_end(BlockContext&) = 0;
  // Findings go to BlockContext::report as they are met, counters of memory accesses to BlockContext::counters
  // at block_end (instruction counts are the scheduler's).
};

struct SiteTotals;

struct LaunchObserver {
  virtual ~LaunchObserver() = default;
  virtual std::unique_ptr<Observer> make_observer() = 0;   // any thread
  // After every block ended: races between blocks, in address order.
  virtual std::vector<Finding> finish() = 0;
  // After every observer is gone: what they counted of each instruction (Options::count_sites).
  virtual const SiteTotals& sites() const = 0;
};
// `one_interleaving`: the blocks run on one thread in an interleaving that is the same in every run
// (KernelInfo::order_sensitive), so order between blocks is followed through atomics and fences.
// `launch` and `options` must outlive it.
std::unique_ptr<LaunchObserver> observe_launch(const Launch& launch, const Options& options, bool one_interleaving);

}  // namespace kw::emu
