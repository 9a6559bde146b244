// The state a handler sees: a warp, and the block it belongs to. Internal to emu.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "emu/emulator.h"
#include "emu/insn.h"

namespace kw::emu {

struct BlockContext;
struct Observer;

// Generic addresses of the per-block and per-thread spaces (PTX ISA, generic addressing). A generic
// address outside both windows is a global (or const, or param) address = a host address in Memory.
inline constexpr uint64_t kSharedWindow = 0x0100'0000'0000ull;   // + offset (24 bits per cluster rank)
inline constexpr uint64_t kSharedWindowBytes = 1ull << 32;
inline constexpr uint64_t kLocalWindow = 0x0200'0000'0000ull;    // + offset within the thread's local memory
inline constexpr uint64_t kLocalWindowBytes = 1ull << 32;

struct Warp {
  uint8_t* bank = nullptr;       // registers of the executing frame
  Mask exec = 0;                 // lanes executing the current instruction
  uint32_t pc = 0;               // index of the next instruction of the executing fragment
  const Code* code = nullptr;
  BlockContext* block = nullptr;
  uint32_t index = 0;            // within the block
  Mask live = 0;                 // lanes that exist and have not exited
  uint8_t* local = nullptr;      // local memory, lane-major: lane i's thread memory starts at i * local_stride
  uint32_t local_stride = 0;
  uint32_t local_frame = 0;      // offset of the executing frame's .local variables in a thread's memory

  template <typename T>
  T* reg(uint32_t offset) { return reinterpret_cast<T*>(bank + offset); }
  Mask& pred(uint32_t offset) { return *reinterpret_cast<Mask*>(bank + offset); }
};

// An allocation that an instruction of the block used before: most find theirs here (ops_memory.cc).
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
  uint64_t param_base = 0;       // device address of the kernel's parameter block
  uint32_t param_bytes = 0;
  std::vector<Warp*> warps;
  RangeCache ranges;
  Observer* observer = nullptr;  // null: nothing is checked or counted beyond safety
  std::string output;
  // A handler that meets a fatal condition calls this: records the finding, stops the block.
  // Execution of the current warp ends after the handler returns.
  void fault(Warp& warp, const Insn& insn, int lane, Finding finding);
  bool stopped = false;
};

}  // namespace kw::emu
