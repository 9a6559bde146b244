// Executes one warp: fragments (lanes at one place), frames (calls), the run loop. Internal to emu.
//
// Lanes of a warp that stand at the same instruction of the same frame form a fragment. The fragment in the
// deepest frame, and there the one at the lowest instruction, runs first, so lanes that diverged meet again
// where their paths join. When a fragment spins, the turn goes round, so lanes may wait for each other.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emu/function_lowering.h"
#include "emu/program.h"
#include "emu/warp.h"

namespace kw::emu {

// How often each basic block of a function was entered, and by how many lanes; and corrections for blocks
// left half way. Kept per host thread and added up.
struct CodeCounts {
  std::vector<uint64_t> entries, lanes;                                       // per basic block
  struct Partial { int64_t entries = 0, lanes = 0; };
  std::unordered_map<uint32_t, Partial> partial;                              // from this instruction to the block's end
  uint64_t divergent_branches = 0;
};

struct FreeDeleter { void operator()(void* p) const { std::free(p); } };
using Bytes = std::unique_ptr<uint8_t, FreeDeleter>;
Bytes allocate_bytes(size_t bytes);   // 64-byte aligned, not initialised

// Constants into place, slots that may be read first to zero.
void prepare_bank(const Code& code, uint8_t* bank, bool fresh);

struct Frame {
  const Code* code = nullptr;
  CodeCounts* counts = nullptr;
  uint8_t* bank = nullptr;
  Bytes own_bank;                // frames of calls
  Frame* parent = nullptr;
  uint32_t return_pc = 0;        // in the parent
  const Insn* call = nullptr;    // in the parent
  const CallSite* site = nullptr;
  uint32_t local_frame = 0;
  uint32_t depth = 0;
  Mask lanes = 0;                // that have not returned or exited
  std::unique_ptr<std::array<uint32_t, kLanes>> tops;   // with alloca: where each lane's part of the stack ends
};

struct Fragment {
  enum class State : uint8_t {
    kReady,
    kConverge,   // waits for `needed` lanes at this instruction
    kBarrier,    // arrived at `barrier`, goes on after pc
  };
  Frame* frame = nullptr;
  uint32_t pc = 0;
  Mask mask = 0;
  State state = State::kReady;
  uint8_t barrier = 0;
  Mask needed = 0;
  uint64_t stamp = 0;            // when it last ran
};

class Block;

struct WarpState {
  Warp warp;
  Block* owner = nullptr;
  Frame base;
  std::vector<Fragment> fragments;
  std::vector<std::unique_ptr<Frame>> frames;        // in use
  std::vector<std::unique_ptr<Frame>> spare_frames;
  uint64_t steps = 0;            // warp instructions executed in this turn
  uint64_t executed = 0;         // … and in the turns before, since the block began
  uint64_t stamp = 0;
  uint64_t frame_bytes = 0;      // banks of the frames in use
  uint32_t deepest_local = 0;    // bytes of local memory a thread may have touched
  bool has_ready() const;
};

enum class Turn : uint8_t { kOver, kBlocked, kYielded };
// Runs the warp until every lane has exited, none can go on, or about `quantum` instructions ran.
Turn run_warp(WarpState& state, uint64_t quantum);

// Adds lanes to the fragment of `frame` that is ready at `pc`, or makes one.
void add_fragment(WarpState& state, Frame* frame, uint32_t pc, Mask lanes);

}  // namespace kw::emu
