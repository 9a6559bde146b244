// atom and red (PTX ISA 9.7.13). Lanes act in the order of their numbers. On global memory every lane's update
// is one atomic operation of the host, since other blocks run on other threads; shared memory belongs to
// one host thread. Scopes and semantics (.acquire, .release …) matter to the observer only.
// add.f32 on global memory flushes subnormals and on shared memory keeps them, as the ISA says.
#include "emu/memory_access.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "emu/function_lowering.h"

namespace kw::emu {
namespace {

using ptx::Space;
using ptx::Type;

enum class Op : uint8_t { kAnd, kOr, kXor, kExch, kCas, kAdd, kInc, kDec, kMin, kMax };

struct F16 { uint16_t bits; };
struct F16x2 { uint32_t bits; };
struct BF16 { uint16_t bits; };
struct BF16x2 { uint32_t bits; };
struct alignas(16) B128 {
  uint64_t half[2];
  friend bool operator==(const B128&, const B128&) = default;
};

uint16_t add_f16(uint16_t a, uint16_t b) {
  _Float16 x, y;
  std::memcpy(&x, &a, 2);
  std::memcpy(&y, &b, 2);
  // The sum of two f16 values is exact enough in float for one rounding (24 >= 2 * 11 + 2 bits).
  const float sum = static_cast<float>(x) + static_cast<float>(y);
  if (std::isnan(sum)) return 0x7fff;
  const _Float16 rounded = static_cast<_Float16>(sum);
  uint16_t bits;
  std::memcpy(&bits, &rounded, 2);
  return bits;
}

uint16_t add_bf16(uint16_t a, uint16_t b) {
  const uint32_t wide_a = static_cast<uint32_t>(a) << 16, wide_b = static_cast<uint32_t>(b) << 16;
  float x, y;
  std::memcpy(&x, &wide_a, 4);
  std::memcpy(&y, &wide_b, 4);
  const float sum = x + y;
  if (std::isnan(sum)) return 0x7fff;
  uint32_t bits;
  std::memcpy(&bits, &sum, 4);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

template <Op op, typename T>
T combine(T old, T b, [[maybe_unused]] T c, [[maybe_unused]] bool flush) {
  if constexpr (op == Op::kExch) {
    return b;
  } else if constexpr (op == Op::kCas) {
    return old == b ? c : old;
  } else if constexpr (std::is_same_v<T, F16>) {
    return {add_f16(old.bits, b.bits)};
  } else if constexpr (std::is_same_v<T, BF16>) {
    return {add_bf16(old.bits, b.bits)};
  } else if constexpr (std::is_same_v<T, F16x2> || std::is_same_v<T, BF16x2>) {
    const auto half = [](uint16_t x, uint16_t y) {
      return std::is_same_v<T, F16x2> ? add_f16(x, y) : add_bf16(x, y);
    };
    const uint32_t low = half(static_cast<uint16_t>(old.bits), static_cast<uint16_t>(b.bits));
    const uint32_t high = half(static_cast<uint16_t>(old.bits >> 16), static_cast<uint16_t>(b.bits >> 16));
    return {low | high << 16};
  } else if constexpr (std::is_same_v<T, float>) {
    const float sum = flush ? flushed(flushed(old) + flushed(b)) : old + b;
    return std::isnan(sum) ? std::bit_cast<float>(0x7fffffffu) : sum;
  } else if constexpr (std::is_same_v<T, double>) {
    return old + b;
  } else if constexpr (std::is_same_v<T, B128>) {
    return old;
  } else if constexpr (op == Op::kAnd) {
    return old & b;
  } else if constexpr (op == Op::kOr) {
    return old | b;
  } else if constexpr (op == Op::kXor) {
    return old ^ b;
  } else if constexpr (op == Op::kAdd) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
  } else if constexpr (op == Op::kInc) {
    return old >= b ? 0 : old + 1;
  } else if constexpr (op == Op::kDec) {
    return old == 0 || old > b ? b : old - 1;
  } else if constexpr (op == Op::kMin) {
    return old < b ? old : b;
  } else {
    return old > b ? old : b;
  }
}

// 16-byte values have no portable lock-free form; the lock is chosen by address.
std::mutex& lock_of(const void* address) {
  static std::mutex locks[64];
  return locks[reinterpret_cast<uint64_t>(address) / 16 % 64];
}

template <Op op, typename T>
T update_shared(void* address, T b, T c) {
  T old;
  std::memcpy(&old, address, sizeof old);
  const T value = combine<op, T>(old, b, c, false);
  std::memcpy(address, &value, sizeof value);
  return old;
}

template <typename T> struct Bits;   // the unsigned integer of T's size
template <typename T> requires(sizeof(T) == 2) struct Bits<T> { using type = uint16_t; };
template <typename T> requires(sizeof(T) == 4) struct Bits<T> { using type = uint32_t; };
template <typename T> requires(sizeof(T) == 8) struct Bits<T> { using type = uint64_t; };

template <Op op, typename T>
T update_global(void* address, T b, T c) {
  if constexpr (sizeof(T) == 16) {
    const std::lock_guard lock(lock_of(address));
    return update_shared<op, T>(address, b, c);
  } else {
    using U = typename Bits<T>::type;
    std::atomic_ref<U> cell(*static_cast<U*>(address));
    if constexpr (std::is_same_v<T, U> && op == Op::kAdd) {
      return cell.fetch_add(b);
    } else if constexpr (std::is_same_v<T, U> && op == Op::kExch) {
      return cell.exchange(b);
    } else {
      U seen = cell.load(std::memory_order_relaxed);
      for (;;) {
        T old;
        std::memcpy(&old, &seen, sizeof old);
        const T value = combine<op, T>(old, b, c, true);
        U next;
        std::memcpy(&next, &value, sizeof next);
        if (cell.compare_exchange_weak(seen, next)) return old;
      }
    }
  }
}

// op[1]: old value (kNone for red), op[2]: b, op[3]: c of cas.
template <Op op, typename T>
void atomic(Warp& warp, const Insn& insn) {
  uint64_t addresses[kLanes];
  compute_addresses(warp, insn, addresses);
  if (!resolve(warp, insn, Access::kAtomic, addresses, warp.exec, sizeof(T))) return;
  const uint64_t shared = reinterpret_cast<uint64_t>(warp.block->shared), shared_bytes = warp.block->shared_extent;
  const bool local_only = space_of(insn) == Space::kShared;
  for_lanes(warp.exec, [&](int lane) {
    T b, c{};
    std::memcpy(&b, warp.bank + insn.op[2] + lane * sizeof(T), sizeof(T));
    if constexpr (op == Op::kCas) std::memcpy(&c, warp.bank + insn.op[3] + lane * sizeof(T), sizeof(T));
    void* const address = reinterpret_cast<void*>(addresses[lane]);
    const T old = local_only || addresses[lane] - shared < shared_bytes ? update_shared<op, T>(address, b, c)
                                                                        : update_global<op, T>(address, b, c);
    if (insn.op[1] != kNone) std::memcpy(warp.bank + insn.op[1] + lane * sizeof(T), &old, sizeof(T));
  });
}

Handler handler_of(Op op, Type type) {
  switch (op) {
    case Op::kAnd: return type == Type::kB32 ? atomic<Op::kAnd, uint32_t> : type == Type::kB64 ? atomic<Op::kAnd, uint64_t> : Handler{};
    case Op::kOr: return type == Type::kB32 ? atomic<Op::kOr, uint32_t> : type == Type::kB64 ? atomic<Op::kOr, uint64_t> : Handler{};
    case Op::kXor: return type == Type::kB32 ? atomic<Op::kXor, uint32_t> : type == Type::kB64 ? atomic<Op::kXor, uint64_t> : Handler{};
    case Op::kExch:
      if (type == Type::kB32) return atomic<Op::kExch, uint32_t>;
      if (type == Type::kB64) return atomic<Op::kExch, uint64_t>;
      return type == Type::kB128 ? atomic<Op::kExch, B128> : Handler{};
    case Op::kCas:
      if (type == Type::kB16) return atomic<Op::kCas, uint16_t>;
      if (type == Type::kB32) return atomic<Op::kCas, uint32_t>;
      if (type == Type::kB64) return atomic<Op::kCas, uint64_t>;
      return type == Type::kB128 ? atomic<Op::kCas, B128> : Handler{};
    case Op::kAdd:
      if (type == Type::kU32 || type == Type::kS32) return atomic<Op::kAdd, uint32_t>;
      if (type == Type::kU64 || type == Type::kS64) return atomic<Op::kAdd, uint64_t>;
      if (type == Type::kF32) return atomic<Op::kAdd, float>;
      if (type == Type::kF64) return atomic<Op::kAdd, double>;
      if (type == Type::kF16) return atomic<Op::kAdd, F16>;
      if (type == Type::kF16x2) return atomic<Op::kAdd, F16x2>;
      if (type == Type::kBF16) return atomic<Op::kAdd, BF16>;
      return type == Type::kBF16x2 ? atomic<Op::kAdd, BF16x2> : Handler{};
    case Op::kInc: return type == Type::kU32 ? atomic<Op::kInc, uint32_t> : Handler{};
    case Op::kDec: return type == Type::kU32 ? atomic<Op::kDec, uint32_t> : Handler{};
    case Op::kMin:
      if (type == Type::kU32) return atomic<Op::kMin, uint32_t>;
      if (type == Type::kS32) return atomic<Op::kMin, int32_t>;
      if (type == Type::kU64) return atomic<Op::kMin, uint64_t>;
      return type == Type::kS64 ? atomic<Op::kMin, int64_t> : Handler{};
    case Op::kMax:
      if (type == Type::kU32) return atomic<Op::kMax, uint32_t>;
      if (type == Type::kS32) return atomic<Op::kMax, int32_t>;
      if (type == Type::kU64) return atomic<Op::kMax, uint64_t>;
      return type == Type::kS64 ? atomic<Op::kMax, int64_t> : Handler{};
  }
  return nullptr;
}

bool op_named(std::string_view name, Op& op) {
  constexpr std::pair<std::string_view, Op> kNames[] = {
      {"and", Op::kAnd}, {"or", Op::kOr},   {"xor", Op::kXor}, {"exch", Op::kExch}, {"cas", Op::kCas},
      {"add", Op::kAdd}, {"inc", Op::kInc}, {"dec", Op::kDec}, {"min", Op::kMin},   {"max", Op::kMax}};
  for (const auto& [text, value] : kNames) {
    if (text == name) {
      op = value;
      return true;
    }
  }
  return false;
}

bool is_qualifier(std::string_view modifier) {
  return modifier == "relaxed" || modifier == "acquire" || modifier == "release" || modifier == "acq_rel" ||
         modifier == "cta" || modifier == "cluster" || modifier == "gpu" || modifier == "sys" || modifier == "noftz" ||
         modifier == "L2::cache_hint";
}

size_t mentions(const ptx::Operand& operand, uint32_t register_id) {
  size_t count = operand.kind == ptx::Operand::Kind::kRegister && operand.id == register_id;
  for (const ptx::Operand& element : operand.elements) count += mentions(element, register_id);
  return count;
}

size_t mentions(const ptx::Block& block, uint32_t register_id) {
  size_t count = 0;
  for (const ptx::Statement& statement : block.statements) {
    if (const auto* const instruction = std::get_if<ptx::Instruction>(&statement)) {
      count += instruction->guard.present && instruction->guard.register_id == register_id;
      for (const ptx::Operand& operand : instruction->operands) count += mentions(operand, register_id);
    } else if (const auto* const inner = std::get_if<ptx::BlockPtr>(&statement)) {
      count += mentions(**inner, register_id);
    }
  }
  return count;
}

// Compilers write atom with a result that nothing reads; such a result does not order blocks.
bool result_used(Lowering& lowering, const ptx::Operand& destination) {
  if (destination.kind != ptx::Operand::Kind::kRegister) return false;
  return mentions(lowering.function().function.body, destination.id) > 1;
}

Status lower_atomic(Lowering& lowering, bool returns) {
  Space space = Space::kNone;
  Type type = Type::kNone;
  Op op = Op::kAdd;
  bool have_op = false;
  for (const std::string_view modifier : lowering.instruction().modifiers) {
    if (const Space named = space_named(modifier); named != Space::kNone) {
      space = named;
    } else if (op_named(modifier, op)) {
      have_op = true;
    } else if (const Type named_type = ptx::type_named(modifier); named_type != Type::kNone) {
      type = named_type;
    } else if (!is_qualifier(modifier)) {
      return lowering.unsupported();
    }
  }
  if (space != Space::kNone && space != Space::kGlobal && space != Space::kShared) return lowering.unsupported();
  const Handler handler = have_op ? handler_of(op, type) : nullptr;
  if (handler == nullptr) return lowering.unsupported();
  const unsigned bytes = ptx::size_bits(type) / 8;
  const size_t first = returns ? 1 : 0;
  if (lowering.operand_count() < first + (op == Op::kCas ? 3 : 2)) {
    return lowering.invalid("too few operands: an address and a value (cas: two values) are needed");
  }
  KW_TRY(const Lowering::Address address, lowering.address(lowering.operand(first), space));
  KW_TRY(const Vreg b, lowering.use(lowering.operand(first + 1), bytes));
  Vreg c = kNone, old = kNone;
  if (op == Op::kCas) {
    KW_TRY(c, lowering.use(lowering.operand(first + 2), bytes));
  }
  const bool used = returns && result_used(lowering, lowering.operand(0));
  if (used) {
    const bool is_signed = type == Type::kS32;
    KW_TRY(old, lowering.def(lowering.operand(0), bytes, is_signed));
  }
  if (space != Space::kShared) {
    const bool is_float = type == Type::kF32 || type == Type::kF64 || type == Type::kF16 || type == Type::kF16x2 ||
                          type == Type::kBF16 || type == Type::kBF16x2;
    const bool commutes = !is_float && op != Op::kExch && op != Op::kCas && op != Op::kInc && op != Op::kDec;
    if (used || !commutes) lowering.communicates_between_blocks();
  }
  Insn& insn = lowering.emit(handler, handler, Counters::kAtomic);
  set_address(insn, space, address);
  if (old != kNone) {
    insn.op[1] = old;
    insn.op_defs |= 2;
  }
  insn.op[2] = b;
  insn.op_uses |= 4;
  if (c != kNone) {
    insn.op[3] = c;
    insn.op_uses |= 8;
  }
  return {};
}

constexpr OpEntry kAtomicOps[] = {
    {"atom", nullptr, [](Lowering& lowering) { return lower_atomic(lowering, true); }},
    {"red", [](const ptx::Instruction& i) { return !i.has("async"); },
     [](Lowering& lowering) { return lower_atomic(lowering, false); }},
};

}  // namespace

std::span<const OpEntry> atomic_ops() { return kAtomicOps; }

}  // namespace kw::emu
