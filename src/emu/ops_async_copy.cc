// cp.async and its groups, and mbarrier as sm_80 has it (PTX ISA 9.7.9.25 and 9.7.13.15).
//
// Options::async_completion decides when a copy happens: at issue (eager) or when its lane waits for its
// group (late). Both are outcomes the ISA allows for a correct program, so results that differ mean a missing
// wait. cp.async.mbarrier.arrive completes the lane's copies and arrives at once in either mode.
//
// An mbarrier object occupies its eight bytes of shared memory as
//   [0, 20) pending arrivals, [20, 40) expected arrivals, [40, 61) bytes outstanding, [63] phase,
// a layout of our own (the ISA leaves it opaque). A state token is the object's value before the arrival.
#include "emu/memory_access.h"

#include <array>
#include <cstring>

#include "emu/async_copy.h"

namespace kw::emu {
namespace {

using ptx::Operand;
using ptx::Space;

// ── cp.async ─────────────────────────────────────────────────────────────────────────────────────────────

// aux above the address byte.
constexpr uint32_t kSizeShift = 8;            // bytes (4, 8, 16), 8 bits
constexpr uint32_t kHasSourceSize = 1u << 16;  // op[2]: source size
constexpr uint32_t kHasIgnore = 1u << 17;      // op[2]: predicate; set: the source is not read
constexpr uint32_t kIgnoreNegated = 1u << 18;
constexpr uint32_t kSourceGeneric = 1u << 19;

void perform(uint8_t* to, uint64_t from, unsigned bytes, unsigned source_bytes) {
  if (source_bytes == bytes) {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return;
  }
  if (source_bytes != 0) std::memcpy(to, reinterpret_cast<const void*>(from), source_bytes);
  std::memset(to + source_bytes, 0, bytes - source_bytes);
}

AsyncCopies& queue_of(Warp& warp) {
  BlockContext& block = *warp.block;
  if (block.async_copies.size() < block.warps.size()) block.async_copies.resize(block.warps.size());
  return block.async_copies[warp.index];
}

bool late(const Warp& warp) { return warp.block->options->async_completion == Options::Completion::kLate; }

void fault_operand(Warp& warp, const Insn& insn, int lane, std::string message) {
  Finding finding;
  finding.kind = Finding::Kind::kInvalidOperand;
  finding.fatal = true;
  finding.message = std::move(message);
  warp.block->fault(warp, insn, lane, std::move(finding));
}

// imm: displacement of the destination in the low half, of the source in the high half.
void copy_async(Warp& warp, const Insn& insn) {
  BlockContext& block = *warp.block;
  const Mask lanes = warp.exec;
  const unsigned bytes = insn.aux >> kSizeShift & 0xff;
  const auto to_offset = static_cast<int64_t>(static_cast<int32_t>(insn.imm));
  const auto from_offset = static_cast<int64_t>(static_cast<int32_t>(insn.imm >> 32));

  alignas(32) uint64_t to[kLanes], from[kLanes];
  if (mode_of(insn) == AddressMode::k32) {
    const uint32_t* const base = warp.reg<uint32_t>(insn.op[0]);
    for (int i = 0; i < kLanes; ++i) to[i] = base[i] + static_cast<uint32_t>(to_offset);
  } else {
    const uint64_t* const base = warp.reg<uint64_t>(insn.op[0]);
    for (int i = 0; i < kLanes; ++i) to[i] = base[i] + static_cast<uint64_t>(to_offset);
  }
  const uint64_t* const source = warp.reg<uint64_t>(insn.op[1]);
  for (int i = 0; i < kLanes; ++i) from[i] = source[i] + static_cast<uint64_t>(from_offset);

  // How many bytes each lane reads: lanes that read all, lanes that read none, and the rest one by one.
  uint8_t size[kLanes];
  Mask whole = lanes, some = 0;
  if ((insn.aux & kHasSourceSize) != 0) {
    const uint32_t* const given = warp.reg<uint32_t>(insn.op[2]);
    bool stop = false;
    for_lanes(lanes, [&](int i) {
      if (given[i] > bytes && !stop) {
        stop = true;
        fault_operand(warp, insn, i,
                      fmt::format("cp.async reads {} bytes of a copy of {}: the source size may not be larger", given[i],
                                  bytes));
      }
      size[i] = static_cast<uint8_t>(given[i]);
      if (given[i] != bytes) whole &= ~(1u << i);
      if (given[i] != bytes && given[i] != 0) some |= 1u << i;
    });
    if (stop) return;
  } else if ((insn.aux & kHasIgnore) != 0) {
    Mask ignored = warp.pred(insn.op[2]);
    if ((insn.aux & kIgnoreNegated) != 0) ignored = ~ignored;
    whole &= ~ignored;
    for (int i = 0; i < kLanes; ++i) size[i] = whole >> i & 1 ? static_cast<uint8_t>(bytes) : 0;
  }
  const bool all_whole = whole == lanes;

  // The source: alignment holds for the copy size whatever part of it is read.
  const Space from_space = (insn.aux & kSourceGeneric) != 0 ? Space::kNone : Space::kGlobal;
  if (whole != 0 && !resolve(warp, insn, from_space, Access::kAsyncRead, from, whole, bytes, bytes)) return;
  for (Mask rest = some; rest != 0; rest &= rest - 1) {
    const Mask one = rest & -rest;
    uint64_t address[kLanes] = {};
    const int i = __builtin_ctz(one);
    address[i] = from[i];
    if (!resolve(warp, insn, from_space, Access::kAsyncRead, address, one, size[i], 1)) return;
    from[i] = address[i];
  }
  if (space_of(insn) != Space::kShared && !shared_offsets(warp, insn, space_of(insn), to, lanes)) return;
  if (!resolve(warp, insn, Space::kShared, Access::kAsyncWrite, to, lanes, bytes, bytes)) return;

  if (!late(warp)) {
    if (all_whole && lanes == kFull && bytes == 16) {   // the usual one: constant sizes are two moves
      for (int i = 0; i < kLanes; ++i) {
        std::memcpy(reinterpret_cast<void*>(to[i]), reinterpret_cast<const void*>(from[i]), 16);
      }
    } else {
      for_lanes(lanes, [&](int i) {
        perform(reinterpret_cast<uint8_t*>(to[i]), from[i], bytes, all_whole ? bytes : size[i]);
      });
    }
    return;
  }
  AsyncCopies& queue = queue_of(warp);
  for_lanes(lanes, [&](int i) {
    AsyncCopies::Copy copy;
    copy.lane = static_cast<uint32_t>(i);
    copy.group = queue.committed[i];
    copy.shared_offset = static_cast<uint32_t>(to[i] - reinterpret_cast<uint64_t>(block.shared));
    copy.bytes = bytes;
    copy.source_bytes = all_whole ? bytes : size[i];
    copy.source = from[i];
    queue.pending.push_back(copy);
  });
}

// Performs the lanes' copies whose group is closed and not among the newest `keep`; keep < 0: all.
void complete(Warp& warp, Mask lanes, int64_t keep) {
  BlockContext& block = *warp.block;
  if (block.async_copies.size() <= warp.index) return;
  AsyncCopies& queue = block.async_copies[warp.index];
  size_t kept = 0;
  for (size_t i = 0; i < queue.pending.size(); ++i) {
    const AsyncCopies::Copy copy = queue.pending[i];
    const bool due = (lanes >> copy.lane & 1) != 0 &&
                     (keep < 0 || static_cast<int64_t>(copy.group) < static_cast<int64_t>(queue.committed[copy.lane]) - keep);
    if (due) {
      perform(block.shared + copy.shared_offset, copy.source, copy.bytes, copy.source_bytes);
    } else {
      queue.pending[kept++] = copy;
    }
  }
  queue.pending.resize(kept);
}

void commit_group(Warp& warp, const Insn&) {
  if (late(warp)) {
    AsyncCopies& queue = queue_of(warp);
    for_lanes(warp.exec, [&](int i) { ++queue.committed[i]; });
  }
  if (warp.block->observer != nullptr) warp.block->observer->group_commit(warp, warp.exec);
}

void wait_group(Warp& warp, const Insn& insn) {
  const auto keep = static_cast<uint32_t>(insn.imm);
  if (late(warp)) complete(warp, warp.exec, keep);
  if (warp.block->observer != nullptr) warp.block->observer->group_wait(warp, warp.exec, keep);
}

void wait_all(Warp& warp, const Insn& insn) {
  commit_group(warp, insn);
  if (late(warp)) complete(warp, warp.exec, -1);
  if (warp.block->observer != nullptr) warp.block->observer->group_wait(warp, warp.exec, 0);
}

// ── mbarrier ─────────────────────────────────────────────────────────────────────────────────────────────

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
  complete(warp, warp.exec, -1);
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

// ── Lowering ─────────────────────────────────────────────────────────────────────────────────────────────

// An address as a register and a displacement of 32 bits, for instructions with two of them.
Result<Vreg> base_of(Lowering& lowering, Lowering::Address& address, bool shared) {
  if (address.in_frame) return lowering.invalid("cp.async cannot address local memory");
  if (address.base == kNone) {
    const Vreg base = lowering.constant(static_cast<uint64_t>(address.offset), shared ? 4 : 8);
    address.base_is_64 = !shared;
    address.offset = 0;
    return base;
  }
  if (address.offset != static_cast<int32_t>(address.offset)) {
    return lowering.invalid("cp.async takes displacements of 32 bits");
  }
  return address.base;
}

Status lower_copy(Lowering& lowering) {
  Space to_space = Space::kNone, from_space = Space::kNone;
  bool cg = false;
  for (const std::string_view modifier : lowering.instruction().modifiers) {
    if (modifier == "async" || modifier == "ca") continue;
    if (modifier == "cg") {
      cg = true;
    } else if (modifier == "shared" || modifier == "shared::cta") {
      to_space = Space::kShared;
    } else if (modifier == "global") {
      from_space = Space::kGlobal;
    } else if (!modifier.starts_with("L2::")) {
      return lowering.unsupported();
    }
  }
  if (lowering.operand_count() < 3) return lowering.invalid("cp.async takes a destination, a source and a size");
  const Operand& size = lowering.operand(2);
  if (size.kind != Operand::Kind::kInteger || (size.bits != 16 && (cg || (size.bits != 4 && size.bits != 8)))) {
    return lowering.invalid(cg ? "cp.async.cg copies 16 bytes" : "cp.async.ca copies 4, 8 or 16 bytes");
  }
  KW_TRY(Lowering::Address to, lowering.address(lowering.operand(0), to_space));
  KW_TRY(Lowering::Address from, lowering.address(lowering.operand(1), from_space));
  KW_TRY(const Vreg to_base, base_of(lowering, to, to_space == Space::kShared));
  KW_TRY(const Vreg from_base, base_of(lowering, from, false));
  if (!from.base_is_64) return lowering.invalid("the source address of cp.async has 64 bits");
  Vreg extra = kNone;
  uint32_t flags = static_cast<uint32_t>(size.bits) << kSizeShift;
  const bool hint = lowering.instruction().has("L2::cache_hint");
  const size_t extras = lowering.operand_count() - 3 - (hint && lowering.operand_count() > 3 ? 1 : 0);
  if (extras > 0) {
    const Operand& operand = lowering.operand(3);
    if (operand.kind == Operand::Kind::kInteger || lowering.register_bytes(operand) != 0) {
      KW_TRY(extra, lowering.use(operand, 4));
      flags |= kHasSourceSize;
    } else {
      bool negated = false;
      KW_TRY(extra, lowering.use_predicate(operand, negated));
      flags |= kHasIgnore | (negated ? kIgnoreNegated : 0);
    }
  }
  if (from_space == Space::kNone) flags |= kSourceGeneric;
  Insn& insn = lowering.emit(copy_async, copy_async, Counters::kAsyncCopy);
  insn.op[0] = to_base;
  insn.op[1] = from_base;
  insn.op[2] = extra;
  insn.op_uses = extra == kNone ? 3 : 7;
  insn.aux = static_cast<uint32_t>(to_space) |
             static_cast<uint32_t>(to.base_is_64 ? AddressMode::k64 : AddressMode::k32) << 4 | flags;
  insn.imm = static_cast<uint32_t>(to.offset) | static_cast<uint64_t>(static_cast<uint32_t>(from.offset)) << 32;
  return {};
}

Status lower_group(Lowering& lowering) {
  const ptx::Instruction& instruction = lowering.instruction();
  if (instruction.has("commit_group")) {
    lowering.emit(commit_group, commit_group, Counters::kAsyncCopy);
    return {};
  }
  if (instruction.has("wait_all")) {
    lowering.emit(wait_all, wait_all, Counters::kAsyncCopy);
    return {};
  }
  if (lowering.operand_count() != 1 || lowering.operand(0).kind != Operand::Kind::kInteger) {
    return lowering.invalid("cp.async.wait_group takes a constant");
  }
  const uint64_t keep = lowering.operand(0).bits;
  if (keep > 0x7fffffff) return lowering.invalid("cp.async.wait_group takes a constant of at most 2^31 - 1");
  lowering.emit(wait_group, wait_group, Counters::kAsyncCopy).imm = keep;
  return {};
}

Space mbarrier_space(const ptx::Instruction& instruction) {
  return instruction.has("shared") || instruction.has("shared::cta") ? Space::kShared : Space::kNone;
}

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

constexpr OpEntry kAsyncCopyOps[] = {
    {"cp", [](const ptx::Instruction& i) { return i.has("async") && i.has("mbarrier") && !i.has("bulk"); },
     lower_arrive_copies},
    {"cp",
     [](const ptx::Instruction& i) {
       return i.has("async") && !i.has("bulk") && (i.has("commit_group") || i.has("wait_group") || i.has("wait_all"));
     },
     lower_group},
    {"cp", [](const ptx::Instruction& i) { return i.has("async") && !i.has("bulk"); }, lower_copy},
    {"mbarrier", supported_mbarrier, lower_mbarrier},
};

}  // namespace

void complete_async_copies(Warp& warp, Mask lanes) { complete(warp, lanes, -1); }

std::span<const OpEntry> async_copy_ops() { return kAsyncCopyOps; }

}  // namespace kw::emu
