// The state a handler sees: a warp, and the block it belongs to. Internal to emu.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "emu/async_copy.h"
#include "emu/emulator.h"
#include "emu/insn.h"

namespace kw::emu {

struct BlockContext;
struct Observer;
struct WarpState;   // run_warp.h: the executor's own part (fragments, frames)

// Generic addresses of the per-block and per-thread spaces (PTX ISA, generic addressing). A generic
// address outside both windows is a global (or const, or param) address = a host address in Memory.
inline constexpr uint64_t kSharedWindow = 0x0100'0000'0000ull;   // + offset (24 bits per cluster rank)
inline constexpr uint64_t kSharedWindowBytes = 1ull << 32;
inline constexpr uint64_t kLocalWindow = 0x0200'0000'0000ull;    // + offset within the thread's local memory
inline constexpr uint64_t kLocalWindowBytes = 1ull << 32;
// Addresses of functions: handles, never dereferenced.
inline constexpr uint64_t kCodeWindow = 0x0300'0000'0000ull;     // + 16 × function index
inline constexpr uint64_t kCodeWindowBytes = 1ull << 32;

struct Warp {
  uint8_t* bank = nullptr;       // registers of the executing frame
  Mask exec = 0;                 // lanes executing the current instruction
  uint32_t pc = 0;               // index of the next instruction of the executing fragment
  const Code* code = nullptr;
  BlockContext* block = nullptr;
  uint32_t index = 0;            // within the block
  Mask live = 0;                 // lanes that exist and have not exited
  uint8_t* local = nullptr;      // local memory, lane-major: lane i's thread memory starts at i * local_stride
  uint32_t local_stride = 0;     // bytes of local memory each thread has: the bound of every local access
  uint32_t local_frame = 0;      // offset of the executing frame's .local variables in a thread's memory
  // Set by a handler (through the functions below) when the executing lanes cannot go on past this
  // instruction; the run loop looks at it after every instruction that is not plain arithmetic.
  bool interrupted = false;
  Mask waiting = 0;              // lanes that must execute this instruction again, later
  Mask needed = 0;               // and the lanes that they wait for
  struct Frame* frame = nullptr; // the executing one (run_warp.h)
  bool gathered = false;         // the executing lanes stand at several instructions (collective.h)
  WarpState* state = nullptr;
  const Insn* stopped_at = nullptr;   // where a chain of instructions ended (chain.h)

  template <typename T>
  T* reg(uint32_t offset) { return reinterpret_cast<T*>(bank + offset); }
  Mask& pred(uint32_t offset) { return *reinterpret_cast<Mask*>(bank + offset); }
};

// The end of a chained handler (chain.h): a tail call.
[[gnu::always_inline]] inline void go_on(Warp& warp, const Insn& insn) {
  const Insn& next = (&insn)[1];
  return next.chain(warp, next);
}

// An allocation that an instruction of the block used before: most find theirs here (memory_access.cc).
struct RangeCache {
  struct Entry { uint64_t begin = 0, bytes = 0; bool read_only = false; };
  static constexpr uint32_t kEntries = 16;                  // indexed by Insn::source
  std::array<Entry, kEntries> entries;
};

// One block in flight on one host thread.
struct BlockContext {
  const Launch* launch = nullptr;
  const Options* options = nullptr;
  Memory* memory = nullptr;
  std::array<uint32_t, 3> ctaid{};
  uint64_t linear_index = 0;
  uint32_t threads = 0;
  uint8_t* shared = nullptr;
  uint32_t shared_bytes = 0;     // static + dynamic
  uint32_t reserved_shared = 0;  // where the system's own shared memory begins, behind a gap; 0: the kernel has none
  uint32_t shared_extent = 0;    // end of all of it
  uint64_t param_base = 0;       // device address of the kernel's parameter block
  uint32_t param_bytes = 0;
  std::vector<Warp*> warps;
  std::vector<AsyncCopies> async_copies;   // per warp; empty until the first late copy; cleared for each block
  RangeCache ranges;             // cleared when the set of allocations may have changed
  Observer* observer = nullptr;  // null: nothing is checked or counted beyond safety
  bool watched = false;          // the block may have stalled: `overwritten` digests what writes find
  uint64_t overwritten = 0;
  std::string output;
  // A handler that meets a fatal condition calls this: records the finding, stops the block.
  // Execution of the current warp ends after the handler returns. The party is filled in here.
  void fault(Warp& warp, const Insn& insn, int lane, Finding finding);
  // Records a finding that does not stop the block; same kind and same instructions are counted together.
  void report(Warp& warp, const Insn& insn, int lane, Finding finding);
  // Who executes `insn` in lane `lane` of `warp`, in words.
  Party party(const Warp& warp, const Insn& insn, int lane) const;
  bool stopped = false;
  std::vector<Finding> findings;
  uint64_t distinct_dropped = 0; // findings beyond Options::max_findings
  uint64_t executed = 0;         // warp instructions of the block so far
  Counters counters;             // of the block: handlers and observers may add
};

// ── Instructions that several lanes execute together ───────────────────────────────────────────────────
// A handler calls one of these first. They return the lanes that execute now (then also in warp.exec);
// the others wait until the missing lanes arrive at this instruction, and the handler is called again
// for them. 0: nothing to do now, return at once. When the missing lanes can never arrive, the executor
// reports a deadlock that names both places.

// `members` is the membermask operand, one per lane (lanes may name different groups): the result is the
// lanes whose whole group (its lanes that have not exited) is here. A lane outside its own mask faults.
Mask begin_collective(Warp& warp, const Insn& insn, const uint32_t* members);

// .aligned instructions (mma, ldmatrix, wmma …): every lane of the warp that has not exited is here.
Mask begin_aligned_slow(Warp& warp, const Insn& insn);
inline Mask begin_aligned(Warp& warp, const Insn& insn) {
  return warp.exec == kFull ? kFull : begin_aligned_slow(warp, insn);
}

}  // namespace kw::emu
