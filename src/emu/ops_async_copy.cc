// cp.async and its groups (PTX ISA 9.7.9.25); mbarrier.cc has the rest of the table.
//
// Options::async_completion decides when a copy happens: at issue (eager) or when its lane waits for its
// group (late). Both are outcomes the ISA allows for a correct program, so results that differ mean a missing
// wait. cp.async.mbarrier.arrive completes the lane's copies and arrives at once in either mode.
#include "emu/memory_access.h"

#include <array>
#include <cstring>

#include "emu/async_copy.h"
#include "emu/mbarrier.h"

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
