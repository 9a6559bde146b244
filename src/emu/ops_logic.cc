// Logic and shifts: PTX ISA section 9.7.8; b16, b32, b64 and predicates.
#include "emu/form.h"

namespace kw::emu {
namespace {

using ptx::Type;

template <typename T>
constexpr auto kAnd = [](T a, T b) -> T { return static_cast<T>(a & b); };
template <typename T>
constexpr auto kOr = [](T a, T b) -> T { return static_cast<T>(a | b); };
template <typename T>
constexpr auto kXor = [](T a, T b) -> T { return static_cast<T>(a ^ b); };
template <typename T>
constexpr auto kNot = [](T a) -> T { return static_cast<T>(~a); };
template <typename T>
constexpr auto kCnot = [](T a) -> T { return a == 0 ? T{1} : T{0}; };

// Amounts beyond the width shift everything out (arithmetic: leave the sign).
template <typename T>
constexpr auto kShl = [](T a, uint32_t n) -> T {
  constexpr uint32_t width = 8 * sizeof(T);
  return n >= width ? T{0} : static_cast<T>(a << (n & (width - 1)));
};
template <typename T>
constexpr auto kShr = [](T a, uint32_t n) -> T {
  constexpr uint32_t width = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> (n >= width ? width - 1 : n));
  else return n >= width ? T{0} : static_cast<T>(a >> (n & (width - 1)));
};

// Funnel shifts of [b:a]: left gives the upper word, right the lower.
template <bool kLeft, bool kClamp>
constexpr auto kShf = [](uint32_t a, uint32_t b, uint32_t c) -> uint32_t {
  const uint32_t n = kClamp ? (c < 32 ? c : 32) : c & 31u;
  const uint64_t both = uint64_t{b} << 32 | a;
  return static_cast<uint32_t>(kLeft ? (both << n) >> 32 : both >> n);
};

// Bit by bit, the truth table imm[a<<2 | b<<1 | c]. For each (a, b), the result as a function of c is one of
// 0, 1, c, ~c: (c & take) ^ flip. The masks do not depend on the lane.
inline uint32_t lop3(uint32_t table, uint32_t a, uint32_t b, uint32_t c) {
  const auto all = [&](uint32_t bit) { return 0u - ((table >> bit) & 1u); };
  const uint32_t f00 = (c & (all(0) ^ all(1))) ^ all(0), f01 = (c & (all(2) ^ all(3))) ^ all(2);
  const uint32_t f10 = (c & (all(4) ^ all(5))) ^ all(4), f11 = (c & (all(6) ^ all(7))) ^ all(6);
  const uint32_t f0 = f00 ^ ((f00 ^ f01) & b), f1 = f10 ^ ((f10 ^ f11) & b);
  return f0 ^ ((f0 ^ f1) & a);
}
constexpr auto kLop3 = [](uint32_t a, uint32_t b, uint32_t c, Imm imm) -> uint32_t {
  return lop3(static_cast<uint32_t>(imm.imm), a, b, c);
};
// The tables compilers write most: what is constant in the formula folds away.
template <uint32_t kTable>
constexpr auto kLop3Fixed = [](uint32_t a, uint32_t b, uint32_t c) -> uint32_t { return lop3(kTable, a, b, c); };
struct FixedTable { uint64_t table; const LaneOp* op; };
#define KW_LOP3(table) {table, &lane_op<kLop3Fixed<table>>}
constexpr FixedTable kFixedTables[] = {
    KW_LOP3(0x96), KW_LOP3(0xe8), KW_LOP3(0xca), KW_LOP3(0xb8), KW_LOP3(0xe2), KW_LOP3(0xd8), KW_LOP3(0x80), KW_LOP3(0xfe),
    KW_LOP3(0xf8), KW_LOP3(0xea), KW_LOP3(0xec), KW_LOP3(0xa8), KW_LOP3(0xe0), KW_LOP3(0xc8), KW_LOP3(0x78), KW_LOP3(0x6a),
    KW_LOP3(0x6c), KW_LOP3(0x60), KW_LOP3(0x48), KW_LOP3(0x28), KW_LOP3(0x1e), KW_LOP3(0x3c), KW_LOP3(0xc0), KW_LOP3(0xfc),
    KW_LOP3(0x30), KW_LOP3(0x0c), KW_LOP3(0x9a), KW_LOP3(0xf2), KW_LOP3(0xf4), KW_LOP3(0x40), KW_LOP3(0x20), KW_LOP3(0x10),
};
#undef KW_LOP3
const LaneOp& lop3_op(uint64_t table) {
  for (const FixedTable& f : kFixedTables)
    if (f.table == table) return *f.op;
  return lane_op<kLop3>;
}

enum PredicateOp : uint32_t { kPredAnd, kPredOr, kPredXor, kPredNot };
template <PredicateOp kOp>
void predicate_op(Warp& warp, const Insn& insn) {
  const Mask a = warp.pred(insn.op[1]);
  Mask r;
  if constexpr (kOp == kPredNot) r = ~a;
  else if constexpr (kOp == kPredAnd) r = a & warp.pred(insn.op[2]);
  else if constexpr (kOp == kPredOr) r = a | warp.pred(insn.op[2]);
  else r = a ^ warp.pred(insn.op[2]);
  store_lanes(warp.pred(insn.op[0]), r, warp.exec);
}

// op: p, d, q; aux: 0 or, 1 and. p = (d != 0) op q.
void lop3_predicate(Warp& warp, const Insn& insn) {
  const uint32_t* d = slot<const uint32_t>(warp, insn.op[1]);
  alignas(32) uint32_t words[kLanes];
  for (int i = 0; i < kLanes; ++i) words[i] = d[i] != 0 ? ~0u : 0u;
  const Mask set = pack_mask(words), q = warp.pred(insn.op[2]);
  store_lanes(warp.pred(insn.op[0]), insn.aux ? set & q : set | q, warp.exec);
}

Status lower_predicate(Lowering& l, Handler handler, size_t sources) {
  if (l.operand_count() != sources + 1)
    return l.invalid(fmt::format("takes {} operands, not {}", sources + 1, l.operand_count()));
  Vreg source[2] = {kNone, kNone};
  for (size_t i = 0; i < sources; ++i) {
    KW_TRY(source[i], use_condition(l, l.operand(i + 1)));
  }
  KW_TRY(const Vreg destination, l.def_predicate(l.operand(0)));
  Insn& insn = l.emit(handler, handler, Counters::kPredicate);
  insn.op[0] = destination;
  insn.op[1] = source[0];
  insn.op[2] = source[1];
  insn.op_defs = 1;
  insn.op_uses = sources == 2 ? 6 : 2;
  return {};
}

#define KW_BIT_TYPES(F, type)                     \
  ((type) == Type::kB16 ? &lane_op<F<uint16_t>>   \
   : (type) == Type::kB32 ? &lane_op<F<uint32_t>> \
   : (type) == Type::kB64 ? &lane_op<F<uint64_t>> \
                          : nullptr)

Status lower_logic(Lowering& l) {
  Form form(l.instruction());
  const std::string_view opcode = l.instruction().opcode;
  const Type type = form.take_type();
  if (type == Type::kPred) {
    if (!form.done()) return l.unsupported();
    if (opcode == "and") return lower_predicate(l, &predicate_op<kPredAnd>, 2);
    if (opcode == "or") return lower_predicate(l, &predicate_op<kPredOr>, 2);
    if (opcode == "xor") return lower_predicate(l, &predicate_op<kPredXor>, 2);
    if (opcode == "not") return lower_predicate(l, &predicate_op<kPredNot>, 1);
    return l.unsupported();
  }
  const LaneOp* op = opcode == "and"   ? KW_BIT_TYPES(kAnd, type)
                     : opcode == "or"  ? KW_BIT_TYPES(kOr, type)
                     : opcode == "xor" ? KW_BIT_TYPES(kXor, type)
                     : opcode == "not" ? KW_BIT_TYPES(kNot, type)
                                       : KW_BIT_TYPES(kCnot, type);
  return emit_integer(l, form, op);
}

Status lower_shl(Lowering& l) {
  Form form(l.instruction());
  return emit_integer(l, form, [&] { const Type type = form.take_type(); return KW_BIT_TYPES(kShl, type); }());
}

Status lower_shr(Lowering& l) {
  Form form(l.instruction());
  const LaneOp* op = nullptr;
  switch (form.take_type()) {
    case Type::kB16: case Type::kU16: op = &lane_op<kShr<uint16_t>>; break;
    case Type::kB32: case Type::kU32: op = &lane_op<kShr<uint32_t>>; break;
    case Type::kB64: case Type::kU64: op = &lane_op<kShr<uint64_t>>; break;
    case Type::kS16: op = &lane_op<kShr<int16_t>>; break;
    case Type::kS32: op = &lane_op<kShr<int32_t>>; break;
    case Type::kS64: op = &lane_op<kShr<int64_t>>; break;
    default: break;
  }
  return emit_integer(l, form, op);
}

Status lower_shf(Lowering& l) {
  Form form(l.instruction());
  const int direction = form.take_one_of({"l", "r"}), mode = form.take_one_of({"clamp", "wrap"});
  if (direction < 0 || mode < 0 || form.take_type() != Type::kB32) return l.unsupported();
  return emit_integer(l, form,
                direction == 0 ? (mode == 0 ? &lane_op<kShf<true, true>> : &lane_op<kShf<true, false>>)
                               : (mode == 0 ? &lane_op<kShf<false, true>> : &lane_op<kShf<false, false>>));
}

Status lower_lop3(Lowering& l) {
  Form form(l.instruction());
  const int combine = form.take_one_of({"or", "and"});
  if (form.take_type() != Type::kB32 || !form.done()) return l.unsupported();
  const size_t count = combine < 0 ? 5 : 6;
  if (l.operand_count() != count) return l.invalid(fmt::format("takes {} operands, not {}", count, l.operand_count()));
  const ptx::Operand& table = l.operand(4);
  if (table.kind != ptx::Operand::Kind::kInteger || table.bits > 255)
    return l.invalid("the truth table must be an integer constant from 0 to 255");
  Vreg source[3];
  for (size_t i = 0; i < 3; ++i) {
    KW_TRY(source[i], l.use(l.operand(i + 1), 4));
  }
  if (combine < 0) {
    KW_TRY(const Vreg destination, l.def(l.operand(0), 4));
    emit_on(l, lop3_op(table.bits), Counters::kInteger, destination, {source[0], source[1], source[2]}, table.bits);
    return {};
  }
  const ptx::Operand& pair = l.operand(0);
  if (pair.kind != ptx::Operand::Kind::kPair || pair.elements.size() != 2)
    return l.invalid("the destination must be written d|p");
  KW_TRY(const Vreg q, use_condition(l, l.operand(5)));
  KW_TRY(const Vreg destination, l.def(pair.elements[0], 4));
  KW_TRY(const Vreg predicate, l.def_predicate(pair.elements[1]));
  // q may be the predicate written; it is read only by the second instruction, so nothing is lost.
  emit_on(l, lop3_op(table.bits), Counters::kInteger, destination, {source[0], source[1], source[2]}, table.bits);
  Insn& insn = l.emit(&lop3_predicate, &lop3_predicate, Counters::kPredicate);
  insn.op[0] = predicate;
  insn.op[1] = destination;
  insn.op[2] = q;
  insn.op_defs = 1;
  insn.op_uses = 6;
  insn.aux = static_cast<uint32_t>(combine);
  return {};
}

constexpr OpEntry kOps[] = {
    {"and", nullptr, lower_logic}, {"or", nullptr, lower_logic},   {"xor", nullptr, lower_logic},
    {"not", nullptr, lower_logic}, {"cnot", nullptr, lower_logic}, {"lop3", nullptr, lower_lop3},
    {"shf", nullptr, lower_shf},   {"shl", nullptr, lower_shl},    {"shr", nullptr, lower_shr},
};

}  // namespace

std::span<const OpEntry> logic_ops() { return kOps; }

}  // namespace kw::emu
