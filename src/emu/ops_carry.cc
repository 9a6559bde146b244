// Carry chains: PTX ISA section 9.7.2, extended precision (add.cc, addc, sub.cc, subc, mad.cc, madc). The carry flag
// CC.CF is a predicate register of the function.
#include <vector>

#include "emu/form.h"
#include "emu/integer_lane.h"

namespace kw::emu {
namespace {

using ptx::Type;

enum class CarryOp : uint8_t { kAdd, kSub, kMadLo, kMadHi };
// more: d, cf (written or scratch), a, b, [c,] [cf read]
template <typename T, CarryOp kOp, bool kCarryIn>
void carry(Warp& warp, const Insn& insn) {
  using U = Unsigned<T>;
  constexpr bool kMad = kOp == CarryOp::kMadLo || kOp == CarryOp::kMadHi;
  U* d = slot<U>(warp, insn.more[0]);
  const T* a = slot<const T>(warp, insn.more[2]);
  const T* b = slot<const T>(warp, insn.more[3]);
  const U* c = kMad ? slot<const U>(warp, insn.more[4]) : nullptr;
  const Mask carries = kCarryIn ? warp.pred(insn.more[kMad ? 5 : 4]) : 0;
  alignas(32) U result[kLanes];
  Mask out = 0;
  for (int i = 0; i < kLanes; ++i) {
    const U in = (carries >> i) & 1u;
    U x = static_cast<U>(a[i]), y = static_cast<U>(b[i]);
    if constexpr (kMad) {
      x = kOp == CarryOp::kMadLo ? static_cast<U>(x * y) : static_cast<U>(high(a[i], b[i]));
      y = c[i];
    }
    if constexpr (kOp == CarryOp::kSub) {
      result[i] = x - y - in;
      out |= static_cast<Mask>(x < y || (in && x == y)) << i;
    } else {
      result[i] = x + y + in;
      out |= static_cast<Mask>(result[i] < x || (in && result[i] == x)) << i;
    }
  }
  store_lanes(d, result, warp.exec);
  store_lanes(warp.pred(insn.more[1]), out, warp.exec);
}

template <CarryOp kOp, bool kCarryIn>
Handler carry_handler(Type type) {
  switch (type) {
    case Type::kU32: return &carry<uint32_t, kOp, kCarryIn>;
    case Type::kS32: return &carry<int32_t, kOp, kCarryIn>;
    case Type::kU64: return &carry<uint64_t, kOp, kCarryIn>;
    case Type::kS64: return &carry<int64_t, kOp, kCarryIn>;
    default: return nullptr;
  }
}

Status lower_carry(Lowering& l, Form& form, CarryOp op, bool carry_in, bool carry_out) {
  const Type type = form.take_type();
  Handler handler = nullptr;
  switch (op) {
    case CarryOp::kAdd: handler = carry_in ? carry_handler<CarryOp::kAdd, true>(type) : carry_handler<CarryOp::kAdd, false>(type); break;
    case CarryOp::kSub: handler = carry_in ? carry_handler<CarryOp::kSub, true>(type) : carry_handler<CarryOp::kSub, false>(type); break;
    case CarryOp::kMadLo: handler = carry_in ? carry_handler<CarryOp::kMadLo, true>(type) : carry_handler<CarryOp::kMadLo, false>(type); break;
    case CarryOp::kMadHi: handler = carry_in ? carry_handler<CarryOp::kMadHi, true>(type) : carry_handler<CarryOp::kMadHi, false>(type); break;
  }
  if (!handler || !form.done()) return l.unsupported();
  const bool mad = op == CarryOp::kMadLo || op == CarryOp::kMadHi;
  const size_t count = mad ? 4 : 3;
  if (l.operand_count() != count) return l.invalid(fmt::format("takes {} operands, not {}", count, l.operand_count()));
  const unsigned bytes = ptx::size_bits(type) / 8;
  std::vector<Vreg> uses;
  for (size_t i = 1; i < count; ++i) {
    KW_TRY(const Vreg source, l.use(l.operand(i), bytes));
    uses.push_back(source);
  }
  if (carry_in) uses.push_back(l.condition_code());
  KW_TRY(const Vreg destination, l.def(l.operand(0), bytes));
  const Vreg defs[2] = {destination, carry_out ? l.condition_code() : l.temporary(0)};
  Insn& insn = l.emit(handler, handler, Counters::kInteger);
  l.set_more(insn, defs, uses);
  return {};
}

Status lower_add_sub(Lowering& l) {
  Form form(l.instruction());
  const std::string_view opcode = l.instruction().opcode;
  const bool carry_out = form.take("cc");
  const CarryOp op = opcode.starts_with("add") ? CarryOp::kAdd : CarryOp::kSub;
  return lower_carry(l, form, op, opcode.ends_with("c"), carry_out);
}

Status lower_mad(Lowering& l) {
  Form form(l.instruction());
  const int part = form.take_one_of({"lo", "hi"});
  if (part < 0) return l.unsupported();
  const bool carry_out = form.take("cc");
  return lower_carry(l, form, part == 0 ? CarryOp::kMadLo : CarryOp::kMadHi, l.instruction().opcode == "madc", carry_out);
}

bool sets_carry(const ptx::Instruction& instruction) { return instruction.has("cc"); }

constexpr OpEntry kOps[] = {
    {"add", sets_carry, lower_add_sub}, {"addc", nullptr, lower_add_sub}, {"sub", sets_carry, lower_add_sub},
    {"subc", nullptr, lower_add_sub},   {"mad", sets_carry, lower_mad},   {"madc", nullptr, lower_mad},
};

}  // namespace

std::span<const OpEntry> carry_ops() { return kOps; }

}  // namespace kw::emu
