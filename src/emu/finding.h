// What the emulator says about a kernel besides its results: findings (faults and hazards) and counters.
// Plain values. Their order is fixed: by linear block index, then by the order of execution inside the
// block, whatever the number of host threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace kw::emu {

struct SourcePlace {
  std::string file;                    // as .file names it
  uint32_t line = 0, column = 0;       // from 1; 0 = not known
};

// One side of a finding: an instruction executed by a lane.
struct Party {
  std::string kernel;                  // as the PTX names it: mangled
  std::string instruction;             // printed PTX
  uint32_t ptx_line = 0;
  std::string source_file;             // from .loc; empty without line information
  uint32_t source_line = 0, source_column = 0;
  std::vector<SourcePlace> inlined_from;   // the calls that were inlined there, the outermost last
  std::array<uint32_t, 3> block{};     // %ctaid
  uint32_t warp = 0, lane = 0;         // warp within the block
  std::array<uint32_t, 3> thread{};    // %tid
};

struct Finding {
  enum class Kind : uint8_t {
    kOutOfBounds, kMisaligned, kUninitialisedRead, kRace, kBarrierDivergence, kDeadlock,
    kInvalidOperand,   // an operand outside what the ISA allows (shift clamp is not; bad barrier id is)
    kTrap,             // trap, brkpt, failed assert
    kWriteToReadOnly,  // store to .const, kernel parameters, a buffer declared read only
    kLimit,            // the step or time bound was reached
    kUnsupported,      // an instruction reached that the emulator does not have
    kStackOverflow,
  } kind = Kind::kTrap;
  bool fatal = false;                  // the launch stopped here
  std::string message;                 // one sentence, with numbers
  ptx::Space space = ptx::Space::kNone;
  uint64_t address = 0;                // offset for .shared/.local, device address for .global
  uint32_t bytes = 0;
  std::string object;                  // allocation or variable that holds (or is nearest to) the address
  int64_t object_offset = 0;
  Party party;
  std::optional<Party> other;          // the other access of a race, the barrier waited at, …
  uint64_t count = 1;                  // occurrences of the same kind at the same pair of instructions
  uint64_t mark = 0;                   // while the launch runs: tells findings of one kind apart; no meaning outside
};
std::string_view name_of(Finding::Kind kind);   // "race", "out-of-bounds", …

// Appends a finding: one of the same kind at the same pair of instructions raises that one's count instead. False when
// `into` has `limit` distinct ones already (a fatal one is kept all the same).
bool merge_finding(std::vector<Finding>& into, Finding finding, uint64_t limit);

// Exact for the PTX executed. `requests` are warp-level instructions.
struct SpaceCounters {
  uint64_t load_requests = 0, store_requests = 0, atomic_requests = 0;
  uint64_t load_bytes = 0, store_bytes = 0, atomic_bytes = 0;
  uint64_t sectors_load = 0, sectors_store = 0;          // global/local: 32-byte sectors
  uint64_t wavefronts_load = 0, wavefronts_store = 0;    // shared: passes needed; 1 per request is ideal
  uint64_t ideal_wavefronts_load = 0, ideal_wavefronts_store = 0;
};
struct Counters {
  enum Class : uint8_t { kInteger, kFloat32, kFloat64, kHalf, kConversion, kSpecialFunction, kMove, kPredicate,
                         kControl, kBarrier, kLoad, kStore, kAtomic, kAsyncCopy, kMatrixLoad, kTensor, kWarpVote,
                         kOther, kClasses };
  std::array<uint64_t, kClasses> warp_instructions{};
  std::array<uint64_t, kClasses> thread_instructions{};
  uint64_t branches = 0, divergent_branches = 0;
  SpaceCounters global, shared, local, constant, param;
  SpaceCounters ldmatrix, cp_async;                      // shared-memory side of each
  uint64_t cp_async_global_bytes = 0, cp_async_sectors = 0;
  uint64_t tensor_operations = 0;                        // multiply-adds × 2, sparse counted as dense/2
  uint64_t barriers = 0, blocks = 0, warps = 0;
  // Warp instructions of the launch's busiest block; and, summed over blocks, of each block's busiest warp.
  uint64_t busiest_block = 0, busiest_warps = 0;
  // With Options::count_sites: distinct 32-byte sectors of global memory that a block loads, and that it touches, each summed
  // over blocks; sectors, and pages of kPageBytes, that the launch touches.
  static constexpr uint64_t kPageBytes = 4096;
  uint64_t block_sectors_load = 0, block_sectors = 0, launch_sectors = 0, launch_pages = 0;
  void add(const Counters& other);   // busiest_block: the larger one
  // As if so many times the blocks had done the same, each with bytes of its own; busiest_block is one block's.
  void scale(double by);
};
std::string_view name_of(Counters::Class instruction_class);

// What one instruction of a launch did.
struct SiteCounters {
  static constexpr size_t kMostAddresses = 4096;
  Party party;                           // instruction, PTX line and source place; block, warp and lane mean nothing
  Counters::Class instruction_class = Counters::kOther;
  uint64_t warps = 0, threads = 0;       // executions, and the threads in them
  ptx::Space space = ptx::Space::kNone;  // of its memory accesses; of an asynchronous copy: global
  uint64_t requests = 0, bytes = 0, sectors = 0;
  uint64_t lines = 0;                    // of 128 bytes, in global memory: distinct ones, request by request
  uint64_t wavefronts = 0, ideal_wavefronts = 0;   // in shared memory
  uint64_t address_passes = 0;           // atomics: passes when lanes that name one address go one after another
  uint64_t addresses = 0;                // atomics: distinct addresses, at most kMostAddresses
};

}  // namespace kw::emu
