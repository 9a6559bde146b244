// Comparison: set and setp, PTX ISA sections 9.7.6 and 9.7.7. What selects by a comparison is in ops_select.cc.
//
// A comparison is always computed as one bit per lane; what becomes of the bits (combined with a predicate,
// stored to one or two predicates, spread to words) is done by one of two handlers that call it.
#include "emu/float_lane.h"
#include "emu/form.h"

namespace kw::emu {
namespace {

using ptx::Type;

enum class Compare : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan, kNone };

Compare take_compare(Form& form, bool& unsigned_name) {
  struct Name { std::string_view name; Compare compare; bool is_unsigned; };
  static constexpr Name kNames[] = {
      {"eq", Compare::kEq, false},   {"ne", Compare::kNe, false},   {"lt", Compare::kLt, false},
      {"le", Compare::kLe, false},   {"gt", Compare::kGt, false},   {"ge", Compare::kGe, false},
      {"lo", Compare::kLt, true},    {"ls", Compare::kLe, true},    {"hi", Compare::kGt, true},
      {"hs", Compare::kGe, true},    {"equ", Compare::kEqu, false}, {"neu", Compare::kNeu, false},
      {"ltu", Compare::kLtu, false}, {"leu", Compare::kLeu, false}, {"gtu", Compare::kGtu, false},
      {"geu", Compare::kGeu, false}, {"num", Compare::kNum, false}, {"nan", Compare::kNan, false},
  };
  for (const Name& n : kNames)
    if (form.take(n.name)) {
      unsigned_name = n.is_unsigned;
      return n.compare;
    }
  return Compare::kNone;
}

template <Compare kOp, typename T>
inline bool compare(T a, T b) {
  if constexpr (kOp == Compare::kEq) return a == b;
  if constexpr (kOp == Compare::kNe) return std::is_floating_point_v<T> ? (a < b) | (a > b) : a != b;
  if constexpr (kOp == Compare::kLt) return a < b;
  if constexpr (kOp == Compare::kLe) return a <= b;
  if constexpr (kOp == Compare::kGt) return a > b;
  if constexpr (kOp == Compare::kGe) return a >= b;
  if constexpr (std::is_floating_point_v<T>) {
    if constexpr (kOp == Compare::kEqu) return !((a < b) | (a > b));
    if constexpr (kOp == Compare::kNeu) return !(a == b);
    if constexpr (kOp == Compare::kLtu) return !(a >= b);
    if constexpr (kOp == Compare::kLeu) return !(a > b);
    if constexpr (kOp == Compare::kGtu) return !(a <= b);
    if constexpr (kOp == Compare::kGeu) return !(a < b);
    if constexpr (kOp == Compare::kNum) return !(is_nan(a) | is_nan(b));
    if constexpr (kOp == Compare::kNan) return is_nan(a) | is_nan(b);
  }
  return false;
}

template <Compare kOp, typename T>
constexpr auto kPlain = [](T a, T b) -> bool { return compare<kOp>(a, b); };
template <Compare kOp>
constexpr auto kFlushed = [](float a, float b) -> bool { return compare<kOp>(flush(a), flush(b)); };
// 16-bit floats; kShift picks the half of a word for the packed forms.
template <Compare kOp, typename F, bool kFtz, typename Word, int kShift>
constexpr auto kNarrow = [](Word a, Word b) -> bool {
  auto x = static_cast<uint16_t>(a >> kShift), y = static_cast<uint16_t>(b >> kShift);
  if constexpr (kFtz) {
    x = flush_half(x);
    y = flush_half(y);
  }
  return compare<kOp>(F::decode(x), F::decode(y));
};

using Table = const LaneOp* const[14];
#define KW_ORDERED(F, ...) \
  &lane_op<F<Compare::kEq, ##__VA_ARGS__>>, &lane_op<F<Compare::kNe, ##__VA_ARGS__>>, &lane_op<F<Compare::kLt, ##__VA_ARGS__>>, \
  &lane_op<F<Compare::kLe, ##__VA_ARGS__>>, &lane_op<F<Compare::kGt, ##__VA_ARGS__>>, &lane_op<F<Compare::kGe, ##__VA_ARGS__>>
#define KW_UNORDERED(F, ...) \
  &lane_op<F<Compare::kEqu, ##__VA_ARGS__>>, &lane_op<F<Compare::kNeu, ##__VA_ARGS__>>, &lane_op<F<Compare::kLtu, ##__VA_ARGS__>>, \
  &lane_op<F<Compare::kLeu, ##__VA_ARGS__>>, &lane_op<F<Compare::kGtu, ##__VA_ARGS__>>, &lane_op<F<Compare::kGeu, ##__VA_ARGS__>>, \
  &lane_op<F<Compare::kNum, ##__VA_ARGS__>>, &lane_op<F<Compare::kNan, ##__VA_ARGS__>>

template <typename T>
constexpr Table kIntegers = {KW_ORDERED(kPlain, T), nullptr};
template <typename T>
constexpr Table kFloats = {KW_ORDERED(kPlain, T), KW_UNORDERED(kPlain, T)};
constexpr Table kFlushedFloats = {KW_ORDERED(kFlushed), KW_UNORDERED(kFlushed)};
template <typename F, bool kFtz, typename Word, int kShift>
constexpr Table kNarrows = {KW_ORDERED(kNarrow, F, kFtz, Word, kShift), KW_UNORDERED(kNarrow, F, kFtz, Word, kShift)};

// The comparison of `type`; `high` picks the upper half of packed types. Null: not a form of PTX.
const LaneOp* comparison(Compare op, bool unsigned_name, Type type, bool ftz, bool high) {
  const auto n = static_cast<size_t>(op);
  const bool only_equality = op == Compare::kEq || op == Compare::kNe;
  const auto integers = [&](Table& table, bool is_unsigned) -> const LaneOp* {
    return ftz || n >= 6 || (unsigned_name && !is_unsigned) ? nullptr : table[n];
  };
  switch (type) {
    case Type::kB16: return only_equality ? integers(kIntegers<uint16_t>, true) : nullptr;
    case Type::kB32: return only_equality ? integers(kIntegers<uint32_t>, true) : nullptr;
    case Type::kB64: return only_equality ? integers(kIntegers<uint64_t>, true) : nullptr;
    case Type::kU16: return integers(kIntegers<uint16_t>, true);
    case Type::kU32: return integers(kIntegers<uint32_t>, true);
    case Type::kU64: return integers(kIntegers<uint64_t>, true);
    case Type::kS16: return integers(kIntegers<int16_t>, false);
    case Type::kS32: return integers(kIntegers<int32_t>, false);
    case Type::kS64: return integers(kIntegers<int64_t>, false);
    default: break;
  }
  if (unsigned_name) return nullptr;
  switch (type) {
    case Type::kF32: return ftz ? kFlushedFloats[n] : kFloats<float>[n];
    case Type::kF64: return ftz ? nullptr : kFloats<double>[n];
    case Type::kF16: return ftz ? kNarrows<Half, true, uint16_t, 0>[n] : kNarrows<Half, false, uint16_t, 0>[n];
    case Type::kBF16: return ftz ? nullptr : kNarrows<Brain, false, uint16_t, 0>[n];
    case Type::kF16x2:
      if (high) return ftz ? kNarrows<Half, true, uint32_t, 16>[n] : kNarrows<Half, false, uint32_t, 16>[n];
      return ftz ? kNarrows<Half, true, uint32_t, 0>[n] : kNarrows<Half, false, uint32_t, 0>[n];
    case Type::kBF16x2:
      if (ftz) return nullptr;
      return high ? kNarrows<Brain, false, uint32_t, 16>[n] : kNarrows<Brain, false, uint32_t, 0>[n];
    default: return nullptr;
  }
}

enum Combine : uint32_t { kAlone, kWithAnd, kWithOr, kWithXor };
Mask combine(Mask value, Mask with, uint32_t how) {
  switch (how) {
    case kWithAnd: return value & with;
    case kWithOr: return value | with;
    case kWithXor: return value ^ with;
    default: return value;
  }
}

// The comparison whose full handler is given, of `a` and `b`, through the scratch predicate.
Mask evaluate(Warp& warp, const Insn& insn, uint32_t scratch, uint32_t a, uint32_t b, uint64_t handler) {
  Insn plain = insn;
  plain.op[0] = scratch;
  plain.op[1] = a;
  plain.op[2] = b;
  reinterpret_cast<Handler>(static_cast<uintptr_t>(handler))(warp, plain);
  return warp.pred(scratch);
}

// more: p, q, scratch | a, b, c. aux: Combine. q is combined with the opposite of the comparison.
void setp_general(Warp& warp, const Insn& insn) {
  const uint32_t* m = insn.more;
  const Mask c = insn.aux == kAlone ? 0 : warp.pred(m[5]);
  const Mask value = evaluate(warp, insn, m[2], m[3], m[4], insn.imm);
  store_lanes(warp.pred(m[0]), combine(value, c, insn.aux), warp.exec);
  store_lanes(warp.pred(m[1]), combine(~value, c, insn.aux), warp.exec);
}

// op: p, value, c.
void setp_packed_combine(Warp& warp, const Insn& insn) {
  store_lanes(warp.pred(insn.op[0]), combine(warp.pred(insn.op[1]), insn.op[2] == kNone ? 0 : warp.pred(insn.op[2]), insn.aux),
              warp.exec);
}

// op: d, value (predicate), c; imm = what a true lane gets.
template <typename T>
void spread(Warp& warp, const Insn& insn) {
  const Mask c = insn.op[2] == kNone ? 0 : warp.pred(insn.op[2]);
  const Mask value = combine(warp.pred(insn.op[1]), c, insn.aux);
  alignas(32) T words[kLanes];
  const T yes = static_cast<T>(insn.imm);
  for (int i = 0; i < kLanes; ++i) words[i] = (value >> i) & 1u ? yes : T{0};
  store_lanes(slot<T>(warp, insn.op[0]), words, warp.exec);
}
// op: d, low value, high value, c; imm = what a true half gets.
void spread_pair(Warp& warp, const Insn& insn) {
  const Mask c = insn.op[3] == kNone ? 0 : warp.pred(insn.op[3]);
  const Mask low = combine(warp.pred(insn.op[1]), c, insn.aux), high = combine(warp.pred(insn.op[2]), c, insn.aux);
  alignas(32) uint32_t words[kLanes];
  const auto yes = static_cast<uint32_t>(insn.imm);
  for (int i = 0; i < kLanes; ++i)
    words[i] = ((low >> i) & 1u ? yes : 0u) | ((high >> i) & 1u ? yes << 16 : 0u);
  store_lanes(slot<uint32_t>(warp, insn.op[0]), words, warp.exec);
}

bool is_packed(Type type) { return type == Type::kF16x2 || type == Type::kBF16x2; }
unsigned bytes_of(Type type) { return ptx::size_bits(type) / 8; }

// The two values compared, and the third operand of a combining form.
struct Inputs { Vreg a = kNone, b = kNone, c = kNone; };
Result<Inputs> use_inputs(Lowering& l, Type type, bool combined) {
  const size_t count = combined ? 4 : 3;
  if (l.operand_count() != count) return l.invalid(fmt::format("takes {} operands, not {}", count, l.operand_count()));
  Inputs in;
  KW_TRY(in.a, l.use(l.operand(1), bytes_of(type)));
  KW_TRY(in.b, l.use(l.operand(2), bytes_of(type)));
  if (combined) {
    KW_TRY(in.c, use_condition(l, l.operand(3)));
  }
  return in;
}

Status lower_setp(Lowering& l) {
  Form form(l.instruction());
  bool unsigned_name = false;
  const Compare op = take_compare(form, unsigned_name);
  const auto how = static_cast<uint32_t>(form.take_one_of({"and", "or", "xor"}) + 1);
  const bool ftz = form.take("ftz");
  const Type type = form.take_type();
  if (op == Compare::kNone || !form.done()) return l.unsupported();
  const LaneOp* low = comparison(op, unsigned_name, type, ftz, false);
  if (!low) return l.unsupported();
  const ptx::Operand* p = l.operand_count() ? &l.operand(0) : nullptr;
  const ptx::Operand* q = nullptr;
  if (p && p->kind == ptx::Operand::Kind::kPair && p->elements.size() == 2) {
    q = &p->elements[1];
    p = &p->elements[0];
  }
  KW_TRY(const Inputs in, use_inputs(l, type, how != kAlone));
  if (is_packed(type)) {
    if (!q) return l.invalid("a packed comparison has two destinations, written p|q");
    const LaneOp* const halves[2] = {low, comparison(op, unsigned_name, type, ftz, true)};
    const Vreg values[2] = {l.temporary(0), l.temporary(0)};
    // Both comparisons come before either destination is written: c may be one of them.
    const Vreg c = how == kAlone ? kNone : in.c;
    Vreg kept = c;
    if (c != kNone) {
      kept = l.temporary(0);
      Insn& copy = l.emit(&setp_packed_combine, &setp_packed_combine, Counters::kPredicate);
      copy.op[0] = kept;
      copy.op[1] = c;
      copy.op_defs = 1;
      copy.op_uses = 2;
      copy.aux = kAlone;
    }
    emit_on(l, *halves[0], Counters::kPredicate, values[0], {in.a, in.b});
    emit_on(l, *halves[1], Counters::kPredicate, values[1], {in.a, in.b});
    const ptx::Operand* const outputs[2] = {p, q};
    for (int i = 0; i < 2; ++i) {
      KW_TRY(const Vreg destination, l.def_predicate(*outputs[i]));
      Insn& insn = l.emit(&setp_packed_combine, &setp_packed_combine, Counters::kPredicate);
      insn.op[0] = destination;
      insn.op[1] = values[i];
      insn.op[2] = kept;
      insn.op_defs = 1;
      insn.op_uses = kept == kNone ? 2 : 6;
      insn.aux = how;
    }
    return {};
  }
  KW_TRY(const Vreg destination, l.def_predicate(*p));
  if (!q && how == kAlone) {
    emit_on(l, *low, Counters::kPredicate, destination, {in.a, in.b});
    return {};
  }
  Vreg second = kNone;
  if (q) {
    KW_TRY(second, l.def_predicate(*q));
  } else {
    second = l.temporary(0);
  }
  const Vreg defs[3] = {destination, second, l.temporary(0)};
  const Vreg uses[3] = {in.a, in.b, in.c};
  Insn& insn = l.emit(&setp_general, &setp_general, Counters::kPredicate);
  insn.imm = reinterpret_cast<uintptr_t>(low->full);
  insn.aux = how;
  l.set_more(insn, defs, std::span(uses, how == kAlone ? 2 : 3));
  return {};
}

Status lower_set(Lowering& l) {
  Form form(l.instruction());
  bool unsigned_name = false;
  const Compare op = take_compare(form, unsigned_name);
  const auto how = static_cast<uint32_t>(form.take_one_of({"and", "or", "xor"}) + 1);
  const bool ftz = form.take("ftz");
  const Type result = form.take_type(), type = form.take_type();
  if (op == Compare::kNone || !form.done()) return l.unsupported();
  const LaneOp* low = comparison(op, unsigned_name, type, ftz, false);
  if (!low) return l.unsupported();
  const bool narrow_source = type == Type::kF16 || type == Type::kBF16;
  uint64_t yes = 0;
  Handler handler = nullptr;
  bool pair = false;
  switch (result) {
    case Type::kU32: case Type::kS32: yes = 0xffffffffu; handler = &spread<uint32_t>; break;
    case Type::kF32: yes = 0x3f800000u; handler = &spread<uint32_t>; break;
    case Type::kU16: case Type::kS16: yes = 0xffffu; handler = narrow_source ? &spread<uint16_t> : nullptr; break;
    case Type::kF16: yes = 0x3c00u; handler = &spread<uint16_t>; break;
    case Type::kBF16: yes = 0x3f80u; handler = &spread<uint16_t>; break;
    case Type::kF16x2: yes = 0x3c00u; pair = true; break;
    case Type::kBF16x2: yes = 0x3f80u; pair = true; break;
    default: break;
  }
  if (is_packed(type)) {
    if (result == Type::kU32 || result == Type::kS32) {
      pair = true;
      yes = 0xffffu;
    }
    if (!pair) return l.unsupported();
    handler = &spread_pair;
  } else if (pair) {
    return l.unsupported();
  }
  if (!handler) return l.unsupported();
  KW_TRY(const Inputs in, use_inputs(l, type, how != kAlone));
  const Vreg value = l.temporary(0);
  emit_on(l, *low, Counters::kPredicate, value, {in.a, in.b});
  Vreg high = kNone;
  if (pair) {
    high = l.temporary(0);
    emit_on(l, *comparison(op, unsigned_name, type, ftz, true), Counters::kPredicate, high, {in.a, in.b});
  }
  KW_TRY(const Vreg destination, l.def(l.operand(0), bytes_of(result), result == Type::kS32 || result == Type::kS16));
  Insn& insn = l.emit(handler, handler, Counters::kInteger);
  insn.op[0] = destination;
  insn.op[1] = value;
  insn.op[2] = pair ? high : in.c;
  if (pair) insn.op[3] = in.c;
  insn.op_defs = 1;
  insn.op_uses = static_cast<uint8_t>(2 | (insn.op[2] == kNone ? 0 : 4) | (insn.op[3] == kNone ? 0 : 8));
  insn.imm = yes;
  insn.aux = how;
  return {};
}

constexpr OpEntry kOps[] = {{"setp", nullptr, lower_setp}, {"set", nullptr, lower_set}};

}  // namespace

std::span<const OpEntry> compare_ops() { return kOps; }

}  // namespace kw::emu
