// Decoded code: what lowering makes of a PTX function and a warp executes. Internal to emu.
//
// A warp's registers of one frame live in one bank: each register slot holds all 32 lanes side by side
// (a .b8 slot is uint8_t[32], a .b16 slot uint16_t[32], .b32 uint32_t[32], .b64 uint64_t[32], .b128 16 bytes × 32;
// a predicate is one uint32_t with a bit per lane). Slots of 1 to 16 bytes per lane are aligned to 32 bytes or more.
// Insn operands are byte offsets into the bank; during lowering they are virtual register ids (Lowering
// rewrites them after slot allocation). A slot that an instruction writes is never the slot of a register
// that it reads, unless both operands name the same register.
// Immediates and constants are slots too, filled when the frame is made, never written afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emu/finding.h"
#include "ptx/module.h"

namespace kw::emu {

inline constexpr int kLanes = 32;
using Mask = uint32_t;
inline constexpr Mask kFull = 0xffffffffu;
inline constexpr uint32_t kNone = 0xffffffffu;   // "no operand"

struct Insn;
struct Warp;
// Executes for the lanes in warp.exec (never empty). Must not touch the destination's other lanes.
using Handler = void (*)(Warp&, const Insn&);

struct Insn {
  Handler full = nullptr;        // when all 32 lanes execute
  Handler chain = nullptr;       // the same, and everything after it: see chain.h
  uint32_t op[4] = {kNone, kNone, kNone, kNone};
  uint64_t imm = 0;              // meaning is the handler's
  uint32_t aux = 0;              // meaning is the handler's
  uint32_t guard = kNone;        // predicate slot; only the run loop looks at it
  uint32_t target = kNone;       // branches, calls: index into Code::insns, or handler's own
  uint32_t source = 0;           // index into Code::sources
  const uint32_t* more = nullptr;  // operands beyond four
  Handler masked = nullptr;      // otherwise; may be the same function
  uint16_t more_count = 0;
  uint16_t more_defs = 0;        // the first more_defs of `more` are written
  uint8_t op_defs = 0;           // bit i: op[i] is written
  uint8_t op_uses = 0;           // bit i: op[i] is read (both bits: read and written)
  bool guard_negated = false;
  bool ends_block = false;       // may change pc: the run loop stops after it (ops_control.cc only)
  bool special = false;          // the run loop's: guarded, or may interrupt the warp
  bool counted = false;          // stands for its PTX instruction in the counters (others of it do not)
  bool helper = false;           // inserted by use() and def(): never the one counted
  bool partial_def = false;      // writes not every executing lane of a destination, so that the old value lives on
  Counters::Class instruction_class = Counters::kOther;
};

// What the run loop does at an instruction with ends_block; kept in Insn::aux (ops_control.cc makes them).
enum class Terminator : uint32_t {
  kBranch,         // target
  kBranchIndexed,  // op[0]: index; imm: which of Code::branch_tables
  kCall,           // imm: which of Code::calls
  kReturn, kExit,
  kBarrier,        // see ops_control.cc
  kYield,          // the warp gives its turn away
};

// Where a decoded instruction came from.
struct Source {
  const ptx::Instruction* instruction = nullptr;
};

struct ConstantSlot { uint32_t offset = 0; uint32_t bytes_per_lane = 4; uint64_t bits = 0; };

// A run of instructions entered only at its first and left only after its last (or by an interrupt).
struct BasicBlock {
  uint32_t begin = 0, end = 0;   // indices into Code::insns
  bool has_terminator = false;   // the last instruction has ends_block
  bool polls = false;            // reads what another thread may write meanwhile: a loop here may wait for it
};

// Bytes of a variable in the frame's part of a thread's local memory.
struct FrameVariable { const ptx::Variable* variable = nullptr; uint32_t offset = 0; };

struct SlotRange { uint32_t offset = 0, bytes = 0; };

struct CallSite;

// One lowered function.
struct Code {
  const ptx::Function* function = nullptr;
  std::vector<Insn> insns;
  std::vector<BasicBlock> blocks;
  std::vector<uint32_t> block_of;                          // per instruction
  std::vector<std::unique_ptr<uint32_t[]>> operand_pool;   // backs Insn::more
  std::vector<Source> sources;
  std::vector<ConstantSlot> constants;
  std::vector<SlotRange> cleared;                // may be read before written: zeroed when a frame starts
  std::vector<std::vector<uint32_t>> branch_tables;        // brx.idx: instruction indices
  std::vector<std::unique_ptr<CallSite>> calls;
  std::vector<FrameVariable> frame_variables;
  struct Parameter { bool in_register = false; uint32_t offset = 0, bytes = 0; };   // slot, or place in the frame
  std::vector<Parameter> parameters, results;    // of a device function
  uint32_t bank_bytes = 0;       // registers + constants of one frame of one warp
  uint32_t constant_begin = 0;   // constants occupy [constant_begin, bank_bytes)
  uint32_t local_bytes = 0;      // .local variables and .param scratch of the frame, per thread
  uint32_t function_index = 0;   // within the program
  bool observed = false;
  // What the function contains, for KernelInfo and the scheduler.
  bool communicates = false;     // order-sensitive access to global memory
  bool indirect_calls = false;
  bool allocates_stack = false;  // alloca
  std::vector<uint32_t> callees; // function indices of direct calls
};

}  // namespace kw::emu
