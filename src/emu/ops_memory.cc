// ld, st, ldu, prefetch and the cache-control instructions (PTX ISA 9.7.9).
//
// ld and st move raw bytes: lowering asks for registers of exactly the memory width, and the widening or
// narrowing that the ISA allows (9.4.1) is inserted around. Cache operators, eviction priorities and
// prefetch sizes do not change results and are accepted. Memory order beyond program order matters to the
// observer only: blocks that communicate run in one interleaving (emulator.h).
#include "emu/memory_access.h"
#include "emu/stored_value.h"

#include <array>
#include <cstring>

namespace kw::emu {
namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::Space;

constexpr unsigned kDiscarded = 128;   // bytes, the only size there is

template <int kBytes> struct RawType;
template <> struct RawType<1> { using type = uint8_t; };
template <> struct RawType<2> { using type = uint16_t; };
template <> struct RawType<4> { using type = uint32_t; };
template <> struct RawType<8> { using type = uint64_t; };
struct alignas(8) Raw16 { uint64_t half[2]; };
template <> struct RawType<16> { using type = Raw16; };

// The data registers: op[1..3], then more. Loads define them, stores use them.
template <int kCount>
inline void data_registers(Warp& warp, const Insn& insn, uint8_t** out) {
  for (int k = 0; k < kCount; ++k) out[k] = warp.bank + (k < 3 ? insn.op[1 + k] : insn.more[k - 3]);
}

// True when lane i's address is lane 0's plus i * bytes.
inline bool contiguous(const uint64_t* addresses, uint64_t bytes) {
  uint64_t difference = 0;
  const uint64_t first = addresses[0];
  for (uint64_t i = 0; i < kLanes; ++i) difference |= addresses[i] ^ (first + i * bytes);
  return difference == 0;
}

template <int kBytes, int kCount, bool kAll>
void load(Warp& warp, const Insn& insn) {
  using Raw = typename RawType<kBytes>::type;
  alignas(32) uint64_t addresses[kLanes];
  compute_addresses(warp, insn, addresses);
  const Mask lanes = kAll ? kFull : warp.exec;
  if (!resolve(warp, insn, Access::kRead, addresses, lanes, kBytes * kCount)) return;
  uint8_t* to[kCount];
  data_registers<kCount>(warp, insn, to);
  if constexpr (kAll && kCount == 1) {
    if (contiguous(addresses, kBytes)) {
      std::memcpy(to[0], reinterpret_cast<const void*>(addresses[0]), kBytes * kLanes);
      return;
    }
  }
  const auto move = [&](int lane) {
    Raw value[kCount];
    std::memcpy(value, reinterpret_cast<const void*>(addresses[lane]), sizeof value);
    for (int k = 0; k < kCount; ++k) std::memcpy(to[k] + lane * kBytes, &value[k], kBytes);
  };
  if constexpr (kAll) {
    for (int lane = 0; lane < kLanes; ++lane) move(lane);
  } else {
    for_lanes(lanes, move);
  }
}

template <int kBytes, int kCount, bool kAll>
void store(Warp& warp, const Insn& insn) {
  using Raw = typename RawType<kBytes>::type;
  alignas(32) uint64_t addresses[kLanes];
  compute_addresses(warp, insn, addresses);
  const Mask lanes = kAll ? kFull : warp.exec;
  if (!resolve(warp, insn, Access::kWrite, addresses, lanes, kBytes * kCount)) return;
  uint8_t* from[kCount];
  data_registers<kCount>(warp, insn, from);
  if constexpr (kAll && kCount == 1) {
    if (contiguous(addresses, kBytes)) {
      std::memcpy(reinterpret_cast<void*>(addresses[0]), from[0], kBytes * kLanes);
      return;
    }
  }
  const auto move = [&](int lane) {
    Raw value[kCount];
    for (int k = 0; k < kCount; ++k) std::memcpy(&value[k], from[k] + lane * kBytes, kBytes);
    std::memcpy(reinterpret_cast<void*>(addresses[lane]), value, sizeof value);
  };
  if constexpr (kAll) {
    for (int lane = 0; lane < kLanes; ++lane) move(lane);
  } else {
    for_lanes(lanes, move);
  }
}

// A load from one address for all lanes (kernel parameters, constants): one check, one read.
template <int kBytes, int kCount>
void load_uniform(Warp& warp, const Insn& insn) {
  using Raw = typename RawType<kBytes>::type;
  const int lane = __builtin_ctz(warp.exec);
  uint64_t addresses[kLanes];
  for (uint64_t& a : addresses) a = insn.imm;
  if (!resolve(warp, insn, Access::kRead, addresses, warp.block->observer != nullptr ? warp.exec : warp.exec & -warp.exec,
               kBytes * kCount)) {
    return;
  }
  Raw value[kCount];
  std::memcpy(value, reinterpret_cast<const void*>(addresses[lane]), sizeof value);
  uint8_t* to[kCount];
  data_registers<kCount>(warp, insn, to);
  for (int k = 0; k < kCount; ++k) {
    Raw* const out = reinterpret_cast<Raw*>(to[k]);
    if (warp.exec == kFull) {
      for (int i = 0; i < kLanes; ++i) out[i] = value[k];
    } else {
      for_lanes(warp.exec, [&](int i) { out[i] = value[k]; });
    }
  }
}

struct MoveHandlers { Handler load_all, load_some, store_all, store_some, load_uniform; };

template <int kBytes, int kCount>
constexpr MoveHandlers handlers_for() {
  return {load<kBytes, kCount, true>, load<kBytes, kCount, false>, store<kBytes, kCount, true>,
          store<kBytes, kCount, false>, load_uniform<kBytes, kCount>};
}

// Null handlers: no such form on these targets.
MoveHandlers handlers(unsigned bytes, unsigned count) {
  switch (bytes * 10 + count) {
    case 11: return handlers_for<1, 1>();
    case 12: return handlers_for<1, 2>();
    case 14: return handlers_for<1, 4>();
    case 21: return handlers_for<2, 1>();
    case 22: return handlers_for<2, 2>();
    case 24: return handlers_for<2, 4>();
    case 41: return handlers_for<4, 1>();
    case 42: return handlers_for<4, 2>();
    case 44: return handlers_for<4, 4>();
    case 81: return handlers_for<8, 1>();
    case 82: return handlers_for<8, 2>();
    case 48: return handlers_for<4, 8>();
    case 84: return handlers_for<8, 4>();
    case 161: return handlers_for<16, 1>();
    default: return {};
  }
}

void nothing(Warp&, const Insn&) {}

void write_policy(Warp& warp, const Insn& insn) {
  uint64_t* const to = warp.reg<uint64_t>(insn.op[0]);
  for_lanes(warp.exec, [&](int i) { to[i] = 0; });
}

struct Form {
  Space space = Space::kNone;
  unsigned count = 1, bytes = 0;
  bool sign_extend = false;
  bool strong = false;             // sees other threads' writes while it runs
};

bool is_hint(std::string_view modifier) {
  static constexpr std::array<std::string_view, 20> kAccepted = {
      "weak", "release", "cta", "cluster", "gpu", "sys", "ca", "cg",
      "cs", "lu", "cv", "wb", "wt", "nc", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
      "L1::evict_last", "L1::no_allocate", "unified"};
  for (const std::string_view accepted : kAccepted) {
    if (modifier == accepted) return true;
  }
  return modifier.starts_with("L2::");
}

Result<Form> form_of(const Lowering& lowering) {
  Form form;
  for (const std::string_view modifier : lowering.instruction().modifiers) {
    if (const Space space = space_named(modifier); space != Space::kNone) {
      form.space = space;
    } else if (modifier == "v2") {
      form.count = 2;
    } else if (modifier == "v4") {
      form.count = 4;
    } else if (modifier == "v8") {
      form.count = 8;
    } else if (const ptx::Type type = ptx::type_named(modifier); type != ptx::Type::kNone) {
      form.bytes = ptx::size_bits(type) / 8;
      form.sign_extend = type == ptx::Type::kS8 || type == ptx::Type::kS16 || type == ptx::Type::kS32;
    } else if (modifier == "volatile" || modifier == "acquire" || modifier == "relaxed" || modifier == "mmio") {
      form.strong = true;
    } else if (!is_hint(modifier)) {
      return lowering.unsupported();
    }
  }
  if (lowering.instruction().has("cta")) form.strong = false;   // within the block
  if (form.bytes == 0) return lowering.unsupported();
  return form;
}

// One value in braces is that value (ptxas takes it, and Triton writes it).
const Operand& without_braces(const Operand& operand) {
  return operand.kind == Operand::Kind::kVector && operand.elements.size() == 1 ? operand.elements[0] : operand;
}

Status lower_load(Lowering& lowering) {
  KW_TRY(const Form form, form_of(lowering));
  const MoveHandlers table = handlers(form.bytes, form.count);
  if (table.load_all == nullptr) return lowering.unsupported();
  if (lowering.operand_count() < 2) return lowering.invalid("ld takes a destination and an address");
  const Operand& destination = lowering.operand(0);
  KW_TRY(const Lowering::Address address, lowering.address(lowering.operand(1), form.space));
  Vreg registers[8] = {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
  if (form.count > 1) {
    if (destination.kind != Operand::Kind::kVector || destination.elements.size() != form.count) {
      return lowering.invalid(fmt::format("the destination must be a vector of {} registers", form.count));
    }
    // All definitions come after the load: registers narrower than the memory are an error of def().
    for (unsigned k = 0; k < form.count; ++k) {
      KW_TRY(registers[k], lowering.def(destination.elements[k], form.bytes, form.sign_extend));
    }
  } else {
    KW_TRY(registers[0], lowering.def(without_braces(destination), form.bytes, form.sign_extend));
  }
  if (form.strong && (form.space == Space::kGlobal || form.space == Space::kNone)) lowering.communicates_between_blocks();
  const bool uniform = address.base == kNone && !address.in_frame && form.space != Space::kLocal;
  Insn& insn = uniform ? lowering.emit(table.load_uniform, table.load_uniform, Counters::kLoad)
                       : lowering.emit(table.load_all, table.load_some, Counters::kLoad);
  set_address(insn, form.space, address);
  for (unsigned k = 0; k < form.count && k < 3; ++k) {
    insn.op[1 + k] = registers[k];
    insn.op_defs |= static_cast<uint8_t>(2u << k);
  }
  if (form.count > 3) lowering.set_more(insn, std::span<const Vreg>(&registers[3], form.count - 3), {});
  return {};
}

Status lower_store(Lowering& lowering) {
  KW_TRY(const Form form, form_of(lowering));
  const MoveHandlers table = handlers(form.bytes, form.count);
  if (table.store_all == nullptr) return lowering.unsupported();
  if (lowering.operand_count() < 2) return lowering.invalid("st takes an address and a source");
  if (form.space == Space::kConst) return lowering.invalid("st cannot write .const");
  const Operand& source = lowering.operand(1);
  KW_TRY(const Lowering::Address address, lowering.address(lowering.operand(0), form.space));
  Vreg registers[8] = {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
  if (form.count > 1) {
    if (source.kind != Operand::Kind::kVector || source.elements.size() != form.count) {
      return lowering.invalid(fmt::format("the source must be a vector of {} operands", form.count));
    }
    for (unsigned k = 0; k < form.count; ++k) {
      KW_TRY(registers[k], lowering.use(source.elements[k], form.bytes));
    }
  } else {
    KW_TRY(registers[0], lowering.use(without_braces(source), form.bytes));
  }
  Insn& insn = lowering.emit(table.store_all, table.store_some, Counters::kStore);
  set_address(insn, form.space, address);
  for (unsigned k = 0; k < form.count && k < 3; ++k) {
    insn.op[1 + k] = registers[k];
    insn.op_uses |= static_cast<uint8_t>(2u << k);
  }
  if (form.count > 3) lowering.set_more(insn, {}, std::span<const Vreg>(&registers[3], form.count - 3));
  return {};
}

// discard: a write of whatever (PTX ISA 9.7.9.16), so the bytes are nobody's afterwards.
void discard(Warp& warp, const Insn& insn) {
  alignas(32) uint64_t addresses[kLanes];
  compute_addresses(warp, insn, addresses);
  const Mask lanes = warp.exec;
  if (!resolve(warp, insn, Access::kWrite, addresses, lanes, kDiscarded)) return;
  for_lanes(lanes, [&](int lane) {
    std::memset(reinterpret_cast<void*>(addresses[lane]), 0xff, kDiscarded);
    warp.block->memory->mark_uninitialised(addresses[lane], kDiscarded);
  });
}

Status lower_discard(Lowering& lowering) {
  if (lowering.operand_count() != 2) return lowering.invalid("discard takes an address and a size");
  const Space space = lowering.instruction().has("global") ? Space::kGlobal : Space::kNone;
  KW_TRY(const Lowering::Address address, lowering.address(lowering.operand(0), space));
  set_address(lowering.emit(discard, discard, Counters::kOther), space, address);
  return {};
}

// prefetch (of tensor maps too), prefetchu, applypriority: hints about caches, which the emulator does not have.
Status lower_hint(Lowering& lowering) {
  lowering.emit(nothing, nothing, Counters::kOther);
  return {};
}

// createpolicy: a policy is opaque and only hints; every policy is 0.
Status lower_create_policy(Lowering& lowering) {
  if (lowering.operand_count() < 1) return lowering.invalid("createpolicy takes a destination");
  KW_TRY(const Vreg to, lowering.def(lowering.operand(0), 8));
  Insn& insn = lowering.emit(write_policy, write_policy, Counters::kOther);
  insn.op[0] = to;
  insn.op_defs |= 1;
  return {};
}

constexpr OpEntry kMemoryOps[] = {
    {"ld", nullptr, lower_load},
    {"ldu", nullptr, lower_load},
    {"st", [](const Instruction& i) { return !i.has("async") && !i.has("bulk"); }, lower_store},
    {"prefetch", nullptr, lower_hint},
    {"prefetchu", nullptr, lower_hint},
    {"discard", nullptr, lower_discard},
    {"applypriority", nullptr, lower_hint},
    {"createpolicy", nullptr, lower_create_policy},
};

}  // namespace

bool stored_value(const Warp& warp, const Insn& insn, int lane, unsigned bytes, uint8_t* out) {
  if (insn.instruction_class != Counters::kStore) return false;
  const unsigned count = static_cast<unsigned>(__builtin_popcount(insn.op_uses >> 1 & 7)) + insn.more_count;
  if (count == 0 || bytes > 16) return false;
  const unsigned each = bytes / count;
  for (unsigned k = 0; k < count; ++k) {
    std::memcpy(out + k * each, warp.bank + (k < 3 ? insn.op[1 + k] : insn.more[k - 3]) + static_cast<unsigned>(lane) * each, each);
  }
  return true;
}

std::span<const OpEntry> memory_ops() { return kMemoryOps; }

}  // namespace kw::emu
