// mbarrier as sm_80 has it (PTX ISA 9.7.13.15).
//
// An mbarrier object occupies its eight bytes of shared memory as
//   [0, 20) pending arrivals, [20, 40) expected arrivals, [40, 61) bytes outstanding, [63] phase,
// a layout of our own (the ISA leaves it opaque). A state token is the object's value before the arrival.
#include "emu/mbarrier.h"

#include <cstring>

#include "emu/memory_access.h"

namespace kw::emu {
namespace {

using ptx::Operand;
using ptx::Space;

void fault_operand(Warp& warp, const Insn& insn, int lane, std::string message) {
  Finding finding;
  finding.kind = Finding::Kind::kInvalidOperand;
  finding.fatal = true;
  finding.message = std::move(message);
  warp.block->fault(warp, insn, lane, std::move(finding));
}

constexpr uint64_t kCountMask = (1ull << 20) - 1;
constexpr uint64_t kMaxCount = kCountMask;
constexpr uint64_t kPhaseBit = 1ull << 63;

uint64_t pending_of(uint64_t object) { return object & kCountMask; }
uint64_t expected_of(uint64_t object) { return object >> 20 & kCountMask; }
uint64_t with_counts(uint64_t object, uint64_t pending, uint64_t expected) {
  return (object & ~(kCountMask | kCountMask << 20)) | pending | expected << 20;
}

// The offsets of the lanes' objects; false: faulted. Accesses to the object itself are atomic.
bool object_addresses(Warp& warp, const Insn& insn, uint64_t* offsets, uint64_t* host, Access how = Access::kAtomic) {
  compute_addresses(warp, insn, offsets);
  if (space_of(insn) != Space::kShared && !shared_offsets(warp, insn, space_of(insn), offsets, warp.exec)) return false;
  for (int i = 0; i < kLanes; ++i) host[i] = offsets[i];
  return resolve(warp, insn, Space::kShared, how, host, warp.exec, 8, 8);
}

uint64_t read_object(uint64_t host) {
  uint64_t object;
  std::memcpy(&object, reinterpret_cast<const void*>(host), 8);
  return object;
}
void write_object(uint64_t host, uint64_t object) { std::memcpy(reinterpret_cast<void*>(host), &object, 8); }

void mbarrier_init(Warp& warp, const Insn& insn) {
  uint64_t offsets[kLanes], host[kLanes];
  if (!object_addresses(warp, insn, offsets, host, Access::kWrite)) return;
  const uint32_t* const counts = warp.reg<uint32_t>(insn.op[1]);
  for (Mask rest = warp.exec; rest != 0; rest &= rest - 1) {
    const int i = __builtin_ctz(rest);
    if (counts[i] == 0 || counts[i] > kMaxCount) {
      fault_operand(warp, insn, i, fmt::format("mbarrier.init with a count of {}: it must lie in [1, {}]", counts[i], kMaxCount));
      return;
    }
    write_object(host[i], with_counts(0, counts[i], counts[i]));
  }
}

void mbarrier_inval(Warp& warp, const Insn& insn) {
  uint64_t offsets[kLanes], host[kLanes];
  if (!object_addresses(warp, insn, offsets, host, Access::kWrite)) return;
  for_lanes(warp.exec, [&](int i) { write_object(host[i], 0); });
}

constexpr uint32_t kDrop = 1u << 8, kNoComplete = 1u << 9, kHasCount = 1u << 10, kNoIncrement = 1u << 11;

// False: faulted. `state`: the value before.
bool arrive_one(Warp& warp, const Insn& insn, int lane, uint64_t offset, uint64_t host, uint64_t count, bool drop,
                bool no_complete, uint64_t& state) {
  const uint64_t object = read_object(host);
  state = object;
  uint64_t pending = pending_of(object), expected = expected_of(object);
  if (count == 0 || count > pending || (drop && count > expected)) {
    fault_operand(warp, insn, lane,
                  fmt::format("{} arrivals at the mbarrier at shared offset {:#x}, whose phase awaits {} of {}{}", count,
                              offset, pending, expected,
                              expected == 0 ? ": it was not initialised or was invalidated" : ""));
    return false;
  }
  pending -= count;
  if (drop) expected -= count;
  if (pending == 0) {
    if (no_complete) {
      fault_operand(warp, insn, lane,
                    fmt::format("mbarrier arrive.noComplete completes the phase of the mbarrier at shared offset {:#x}",
                                offset));
      return false;
    }
    write_object(host, with_counts(object ^ kPhaseBit, expected, expected));
  } else {
    write_object(host, with_counts(object, pending, expected));
  }
  return true;
}

void notify_arrive(Warp& warp, const uint64_t* offsets, bool with_copies) {
  Observer* const observer = warp.block->observer;
  if (observer == nullptr) return;
  for (Mask rest = warp.exec; rest != 0;) {   // lanes at one object together
    const uint64_t offset = offsets[__builtin_ctz(rest)];
    Mask same = 0;
    for_lanes(rest, [&](int i) { same |= static_cast<Mask>(offsets[i] == offset) << i; });
    observer->mbarrier_arrive(warp, static_cast<uint32_t>(offset), same, with_copies);
    rest &= ~same;
  }
}

// op[1]: state out (or kNone), op[2]: count.
void mbarrier_arrive(Warp& warp, const Insn& insn) {
  uint64_t offsets[kLanes], host[kLanes];
  if (!object_addresses(warp, insn, offsets, host)) return;
  notify_arrive(warp, offsets, false);
  for (Mask rest = warp.exec; rest != 0; rest &= rest - 1) {
    const int i = __builtin_ctz(rest);
    const uint64_t count = (insn.aux & kHasCount) != 0 ? warp.reg<uint32_t>(insn.op[2])[i] : 1;
    uint64_t state = 0;
    if (!arrive_one(warp, insn, i, offsets[i], host[i], count, (insn.aux & kDrop) != 0, (insn.aux & kNoComplete) != 0, state)) {
      return;
    }
    if (insn.op[1] != kNone) warp.reg<uint64_t>(insn.op[1])[i] = state;
  }
}

// cp.async.mbarrier.arrive: without .noinc the pending count first grows by one.
void mbarrier_arrive_copies(Warp& warp, const Insn& insn) {
  uint64_t offsets[kLanes], host[kLanes];
  if (!object_addresses(warp, insn, offsets, host)) return;
  complete_async_copies(warp, warp.exec);
  notify_arrive(warp, offsets, true);
  if ((insn.aux & kNoIncrement) == 0) return;   // +1 and -1: the count stays
  for (Mask rest = warp.exec; rest != 0; rest &= rest - 1) {
    const int i = __builtin_ctz(rest);
    uint64_t state = 0;
    if (!arrive_one(warp, insn, i, offsets[i], host[i], 1, false, false, state)) return;
  }
}

// op[1]: predicate out, op[2]: state (8 bytes), or parity (4 bytes) with kParity.
constexpr uint32_t kParity = 1u << 8;

void mbarrier_test_wait(Warp& warp, const Insn& insn) {
  uint64_t offsets[kLanes], host[kLanes];
  if (!object_addresses(warp, insn, offsets, host)) return;
  Mask done = 0;
  for_lanes(warp.exec, [&](int i) {
    const uint64_t phase = read_object(host[i]) >> 63;
    const uint64_t awaited = (insn.aux & kParity) != 0 ? warp.reg<uint32_t>(insn.op[2])[i] & 1
                                                       : warp.reg<uint64_t>(insn.op[2])[i] >> 63;
    done |= static_cast<Mask>(phase != awaited) << i;
  });
  Mask& out = warp.pred(insn.op[1]);
  out = (out & ~warp.exec) | done;
  Observer* const observer = warp.block->observer;
  if (observer == nullptr) return;
  for (Mask rest = done; rest != 0;) {
    const uint64_t offset = offsets[__builtin_ctz(rest)];
    Mask same = 0;
    for_lanes(rest, [&](int i) { same |= static_cast<Mask>(offsets[i] == offset) << i; });
    observer->mbarrier_wait(warp, static_cast<uint32_t>(offset), same);
    rest &= ~same;
  }
}

void mbarrier_pending_count(Warp& warp, const Insn& insn) {
  uint32_t* const out = warp.reg<uint32_t>(insn.op[1]);
  const uint64_t* const state = warp.reg<uint64_t>(insn.op[2]);
  uint32_t values[kLanes];
  for_lanes(warp.exec, [&](int i) { values[i] = static_cast<uint32_t>(pending_of(state[i])); });
  for_lanes(warp.exec, [&](int i) { out[i] = values[i]; });
}

Space mbarrier_space(const ptx::Instruction& instruction) {
  return instruction.has("shared") || instruction.has("shared::cta") ? Space::kShared : Space::kNone;
}

}  // namespace

bool supported_mbarrier(const ptx::Instruction& instruction) {
  return !instruction.has("expect_tx") && !instruction.has("complete_tx") && !instruction.has("shared::cluster");
}

Status lower_arrive_copies(Lowering& lowering) {
  if (lowering.operand_count() != 1) return lowering.invalid("cp.async.mbarrier.arrive takes an address");
  const Space space = mbarrier_space(lowering.instruction());
  KW_TRY(const Lowering::Address address, lowering.address(lowering.operand(0), space));
  Insn& insn = lowering.emit(mbarrier_arrive_copies, mbarrier_arrive_copies, Counters::kBarrier);
  set_address(insn, space, address);
  if (lowering.instruction().has("noinc")) insn.aux |= kNoIncrement;
  return {};
}

Status lower_mbarrier(Lowering& lowering) {
  const ptx::Instruction& instruction = lowering.instruction();
  const Space space = mbarrier_space(instruction);
  const auto is = [&](std::string_view name) { return !instruction.modifiers.empty() && instruction.modifiers[0] == name; };
  if (is("init") || is("inval")) {
    if (lowering.operand_count() != (is("init") ? 2u : 1u)) {
      return lowering.invalid("mbarrier.init takes an address and a count, mbarrier.inval an address");
    }
    KW_TRY(const Lowering::Address address, lowering.address(lowering.operand(0), space));
    Vreg count = kNone;
    if (is("init")) {
      KW_TRY(count, lowering.use(lowering.operand(1), 4));
    }
    const Handler handler = is("init") ? mbarrier_init : mbarrier_inval;
    Insn& insn = lowering.emit(handler, handler, Counters::kBarrier);
    set_address(insn, space, address);
    insn.op[1] = count;
    if (count != kNone) insn.op_uses |= 2;
    return {};
  }
  if (is("arrive") || is("arrive_drop")) {
    if (lowering.operand_count() < 2) return lowering.invalid("mbarrier.arrive takes a state and an address");
    const bool has_count = lowering.operand_count() > 2;
    KW_TRY(const Lowering::Address address, lowering.address(lowering.operand(1), space));
    Vreg count = kNone, state = kNone;
    if (has_count) {
      KW_TRY(count, lowering.use(lowering.operand(2), 4));
    }
    if (lowering.operand(0).kind != Operand::Kind::kSink) {
      KW_TRY(state, lowering.def(lowering.operand(0), 8));
    }
    Insn& insn = lowering.emit(mbarrier_arrive, mbarrier_arrive, Counters::kBarrier);
    set_address(insn, space, address);
    insn.op[1] = state;
    if (state != kNone) insn.op_defs |= 2;
    insn.op[2] = count;
    if (count != kNone) insn.op_uses |= 4;
    insn.aux |= (is("arrive_drop") ? kDrop : 0u) | (has_count ? kHasCount : 0u) |
                (instruction.has("noComplete") ? kNoComplete : 0u);
    return {};
  }
  if (is("test_wait") || is("try_wait")) {
    if (lowering.operand_count() < 3) return lowering.invalid("mbarrier.test_wait takes a predicate, an address and a state");
    const bool parity = instruction.has("parity");
    KW_TRY(const Lowering::Address address, lowering.address(lowering.operand(1), space));
    KW_TRY(const Vreg awaited, lowering.use(lowering.operand(2), parity ? 4 : 8));
    KW_TRY(const Vreg done, lowering.def_predicate(lowering.operand(0)));
    Insn& insn = lowering.emit(mbarrier_test_wait, mbarrier_test_wait, Counters::kBarrier);
    set_address(insn, space, address);
    insn.op[1] = done;
    insn.op_defs |= 2;
    insn.op[2] = awaited;
    insn.op_uses |= 4;
    if (parity) insn.aux |= kParity;
    return {};
  }
  if (is("pending_count")) {
    if (lowering.operand_count() != 2) return lowering.invalid("mbarrier.pending_count takes a destination and a state");
    KW_TRY(const Vreg state, lowering.use(lowering.operand(1), 8));
    KW_TRY(const Vreg out, lowering.def(lowering.operand(0), 4));
    Insn& insn = lowering.emit(mbarrier_pending_count, mbarrier_pending_count, Counters::kBarrier);
    insn.op[1] = out;
    insn.op_defs |= 2;
    insn.op[2] = state;
    insn.op_uses |= 4;
    return {};
  }
  return lowering.unsupported();
}

}  // namespace kw::emu
