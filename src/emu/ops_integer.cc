// Integer arithmetic: PTX ISA section 9.7.1, but for its bit fields (ops_bits.cc); carries are in ops_carry.cc.
//
// Division by zero follows hardware (PTX leaves it open): quotient and remainder are all ones.
#include <limits>

#include "emu/form.h"
#include "emu/integer_lane.h"

namespace kw::emu {
namespace {

using ptx::Type;

template <typename T>
constexpr auto kAdd = [](T a, T b) -> T { return wrap<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b)); };
template <typename T>
constexpr auto kSub = [](T a, T b) -> T { return wrap<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b)); };
template <typename T>
constexpr auto kMulLo = [](T a, T b) -> T { return wrap<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)); };
template <typename T>
constexpr auto kMadLo = [](T a, T b, T c) -> T {
  return wrap<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b) + static_cast<Wide<T>>(c));
};

template <typename T>
constexpr auto kMulHi = [](T a, T b) -> T { return high(a, b); };
template <typename T>
constexpr auto kMadHi = [](T a, T b, T c) -> T {
  return wrap<T>(static_cast<Wide<T>>(high(a, b)) + static_cast<Wide<T>>(c));
};
template <typename T>
constexpr auto kMulWide = [](T a, T b) -> typename Product<T>::type { return product(a, b); };
template <typename T>
constexpr auto kMadWide = [](T a, T b, typename Product<T>::type c) -> typename Product<T>::type {
  using P = typename Product<T>::type;
  return wrap<P>(static_cast<Wide<P>>(product(a, b)) + static_cast<Wide<P>>(c));
};

constexpr int32_t saturate32(int64_t value) {
  return static_cast<int32_t>(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value);
}
constexpr auto kAddSat = [](int32_t a, int32_t b) -> int32_t { return saturate32(int64_t{a} + b); };
constexpr auto kSubSat = [](int32_t a, int32_t b) -> int32_t { return saturate32(int64_t{a} - b); };
constexpr auto kMadHiSat = [](int32_t a, int32_t b, int32_t c) -> int32_t {
  return saturate32(int64_t{high(a, b)} + c);
};

// 24-bit operands: the low 24 bits, sign-extended from bit 23 for s32. hi = bits 16..47 of the product.
template <typename T>
constexpr int64_t low24(T a) {
  if constexpr (std::is_signed_v<T>) return static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8;
  else return a & 0xffffffu;
}
template <typename T>
constexpr auto kMul24Lo = [](T a, T b) -> T { return static_cast<T>(low24(a) * low24(b)); };
template <typename T>
constexpr auto kMul24Hi = [](T a, T b) -> T { return static_cast<T>((low24(a) * low24(b)) >> 16); };
template <typename T>
constexpr auto kMad24Lo = [](T a, T b, T c) -> T {
  return static_cast<T>(static_cast<uint32_t>(low24(a) * low24(b)) + static_cast<uint32_t>(c));
};
template <typename T>
constexpr auto kMad24Hi = [](T a, T b, T c) -> T {
  return static_cast<T>(static_cast<uint32_t>((low24(a) * low24(b)) >> 16) + static_cast<uint32_t>(c));
};
constexpr auto kMad24HiSat = [](int32_t a, int32_t b, int32_t c) -> int32_t {
  return saturate32(int64_t{static_cast<int32_t>((low24(a) * low24(b)) >> 16)} + c);
};

template <typename T>
constexpr auto kSad = [](T a, T b, T c) -> T {
  using W = Wide<T>;
  const W difference = a < b ? static_cast<W>(b) - static_cast<W>(a) : static_cast<W>(a) - static_cast<W>(b);
  return wrap<T>(static_cast<W>(c) + difference);
};

template <typename T>
constexpr auto kDiv = [](T a, T b) -> T {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return wrap<T>(Wide<T>{0} - static_cast<Wide<T>>(a));   // the least value has no negative
  }
  return static_cast<T>(a / b);
};
template <typename T>
constexpr auto kRem = [](T a, T b) -> T {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
};

template <typename T>
constexpr auto kAbs = [](T a) -> T { return a < 0 ? wrap<T>(Wide<T>{0} - static_cast<Wide<T>>(a)) : a; };
template <typename T>
constexpr auto kNeg = [](T a) -> T { return wrap<T>(Wide<T>{0} - static_cast<Wide<T>>(a)); };
template <typename T>
constexpr auto kMin = [](T a, T b) -> T { return a < b ? a : b; };
template <typename T>
constexpr auto kMax = [](T a, T b) -> T { return a < b ? b : a; };
constexpr auto kMinRelu = [](int32_t a, int32_t b) -> int32_t { const int32_t m = a < b ? a : b; return m < 0 ? 0 : m; };
constexpr auto kMaxRelu = [](int32_t a, int32_t b) -> int32_t { const int32_t m = a < b ? b : a; return m < 0 ? 0 : m; };

// Two 16-bit lanes in a word.
template <typename T, auto F>
constexpr auto kPair = [](uint32_t a, uint32_t b) -> uint32_t {
  const auto low = static_cast<uint16_t>(F(static_cast<T>(a), static_cast<T>(b)));
  const auto top = static_cast<uint16_t>(F(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return low | static_cast<uint32_t>(top) << 16;
};
constexpr auto kMinRelu16 = [](int16_t a, int16_t b) -> int16_t { const int16_t m = a < b ? a : b; return m < 0 ? int16_t{0} : m; };
constexpr auto kMaxRelu16 = [](int16_t a, int16_t b) -> int16_t { const int16_t m = a < b ? b : a; return m < 0 ? int16_t{0} : m; };
template <typename T>
constexpr auto kAddSat16 = [](T a, T b) -> T {
  const int32_t sum = int32_t{a} + b;
  constexpr int32_t least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  return static_cast<T>(sum < least ? least : sum > most ? most : sum);
};

template <typename T>
constexpr int32_t byte_of(uint32_t word, int n) { return static_cast<T>(word >> (8 * n)); }
template <typename T>
constexpr int32_t half_of(uint32_t word, int n) { return static_cast<T>(word >> (16 * n)); }
template <typename A, typename B>
constexpr auto kDp4a = [](uint32_t a, uint32_t b, uint32_t c) -> uint32_t {
  return c + static_cast<uint32_t>(byte_of<A>(a, 0) * byte_of<B>(b, 0)) +
         static_cast<uint32_t>(byte_of<A>(a, 1) * byte_of<B>(b, 1)) +
         static_cast<uint32_t>(byte_of<A>(a, 2) * byte_of<B>(b, 2)) +
         static_cast<uint32_t>(byte_of<A>(a, 3) * byte_of<B>(b, 3));
};
template <typename A, typename B, int kFirst>
constexpr auto kDp2a = [](uint32_t a, uint32_t b, uint32_t c) -> uint32_t {
  return c + static_cast<uint32_t>(half_of<A>(a, 0) * byte_of<B>(b, kFirst)) +
         static_cast<uint32_t>(half_of<A>(a, 1) * byte_of<B>(b, kFirst + 1));
};

// --- Lowering -------------------------------------------------------------------------------------------

// F<T> for each plain integer type, or null.
#define KW_INTEGER_TYPES(F, type)                   \
  ((type) == Type::kU16 ? &lane_op<F<uint16_t>>     \
   : (type) == Type::kS16 ? &lane_op<F<int16_t>>    \
   : (type) == Type::kU32 ? &lane_op<F<uint32_t>>   \
   : (type) == Type::kS32 ? &lane_op<F<int32_t>>    \
   : (type) == Type::kU64 ? &lane_op<F<uint64_t>>   \
   : (type) == Type::kS64 ? &lane_op<F<int64_t>>    \
                          : nullptr)
#define KW_SIGNED_TYPES(F, type)                    \
  ((type) == Type::kS16 ? &lane_op<F<int16_t>>      \
   : (type) == Type::kS32 ? &lane_op<F<int32_t>>    \
   : (type) == Type::kS64 ? &lane_op<F<int64_t>>    \
                          : nullptr)
#define KW_NARROW_TYPES(F, type)                    \
  ((type) == Type::kU16 ? &lane_op<F<uint16_t>>     \
   : (type) == Type::kS16 ? &lane_op<F<int16_t>>    \
   : (type) == Type::kU32 ? &lane_op<F<uint32_t>>   \
   : (type) == Type::kS32 ? &lane_op<F<int32_t>>    \
                          : nullptr)

Status lower_add_sub(Lowering& l) {
  Form form(l.instruction());
  const bool add = l.instruction().opcode == "add";
  const bool sat = form.take("sat");
  const Type type = form.take_type();
  const LaneOp* op = nullptr;
  if (sat && type == Type::kS32) op = add ? &lane_op<kAddSat> : &lane_op<kSubSat>;
  else if (type == Type::kU16x2 && add) op = sat ? &lane_op<kPair<uint16_t, kAddSat16<uint16_t>>> : &lane_op<kPair<uint16_t, kAdd<uint16_t>>>;
  else if (type == Type::kS16x2 && add) op = sat ? &lane_op<kPair<int16_t, kAddSat16<int16_t>>> : &lane_op<kPair<int16_t, kAdd<int16_t>>>;
  else if (!sat) op = add ? KW_INTEGER_TYPES(kAdd, type) : KW_INTEGER_TYPES(kSub, type);
  return emit_integer(l, form, op);
}

Status lower_mul(Lowering& l) {
  Form form(l.instruction());
  const int part = form.take_one_of({"lo", "hi", "wide"});
  const Type type = form.take_type();
  const LaneOp* op = part == 0 ? KW_INTEGER_TYPES(kMulLo, type)
                     : part == 1 ? KW_INTEGER_TYPES(kMulHi, type)
                     : part == 2 ? KW_NARROW_TYPES(kMulWide, type) : nullptr;
  return emit_integer(l, form, op);
}

Status lower_mad(Lowering& l) {
  Form form(l.instruction());
  const int part = form.take_one_of({"lo", "hi", "wide"});
  const bool sat = form.take("sat");
  const Type type = form.take_type();
  const LaneOp* op = nullptr;
  if (sat) op = part == 1 && type == Type::kS32 ? &lane_op<kMadHiSat> : nullptr;
  else if (part == 0) op = KW_INTEGER_TYPES(kMadLo, type);
  else if (part == 1) op = KW_INTEGER_TYPES(kMadHi, type);
  else if (part == 2) op = KW_NARROW_TYPES(kMadWide, type);
  return emit_integer(l, form, op);
}

Status lower_24(Lowering& l) {
  Form form(l.instruction());
  const bool mad = l.instruction().opcode == "mad24";
  const bool hi = form.take("hi");
  if (!hi && !form.take("lo")) return l.unsupported();
  const bool sat = form.take("sat");
  const Type type = form.take_type();
  const LaneOp* op = nullptr;
  if (sat) op = mad && hi && type == Type::kS32 ? &lane_op<kMad24HiSat> : nullptr;
  else if (type == Type::kU32)
    op = mad ? (hi ? &lane_op<kMad24Hi<uint32_t>> : &lane_op<kMad24Lo<uint32_t>>)
             : (hi ? &lane_op<kMul24Hi<uint32_t>> : &lane_op<kMul24Lo<uint32_t>>);
  else if (type == Type::kS32)
    op = mad ? (hi ? &lane_op<kMad24Hi<int32_t>> : &lane_op<kMad24Lo<int32_t>>)
             : (hi ? &lane_op<kMul24Hi<int32_t>> : &lane_op<kMul24Lo<int32_t>>);
  return emit_integer(l, form, op);
}

Status lower_min_max(Lowering& l) {
  Form form(l.instruction());
  const bool min = l.instruction().opcode == "min";
  const bool relu = form.take("relu");
  const Type type = form.take_type();
  const LaneOp* op = nullptr;
  if (type == Type::kU16x2 && !relu) op = min ? &lane_op<kPair<uint16_t, kMin<uint16_t>>> : &lane_op<kPair<uint16_t, kMax<uint16_t>>>;
  else if (type == Type::kS16x2)
    op = relu ? (min ? &lane_op<kPair<int16_t, kMinRelu16>> : &lane_op<kPair<int16_t, kMaxRelu16>>)
              : (min ? &lane_op<kPair<int16_t, kMin<int16_t>>> : &lane_op<kPair<int16_t, kMax<int16_t>>>);
  else if (relu) op = type == Type::kS32 ? (min ? &lane_op<kMinRelu> : &lane_op<kMaxRelu>) : nullptr;
  else op = min ? KW_INTEGER_TYPES(kMin, type) : KW_INTEGER_TYPES(kMax, type);
  return emit_integer(l, form, op);
}

const LaneOp* sad_op(Type type) { return KW_INTEGER_TYPES(kSad, type); }
const LaneOp* div_op(Type type) { return KW_INTEGER_TYPES(kDiv, type); }
const LaneOp* rem_op(Type type) { return KW_INTEGER_TYPES(kRem, type); }
const LaneOp* abs_op(Type type) { return KW_SIGNED_TYPES(kAbs, type); }
const LaneOp* neg_op(Type type) { return KW_SIGNED_TYPES(kNeg, type); }

Status lower_dot(Lowering& l) {
  Form form(l.instruction());
  const bool four = l.instruction().opcode == "dp4a";
  const bool hi = !four && form.take("hi");
  if (!four && !hi && !form.take("lo")) return l.unsupported();
  const Type a = form.take_type(), b = form.take_type();
  if ((a != Type::kU32 && a != Type::kS32) || (b != Type::kU32 && b != Type::kS32)) return l.unsupported();
  const bool sa = a == Type::kS32, sb = b == Type::kS32;
  const LaneOp* op = nullptr;
  if (four)
    op = sa ? (sb ? &lane_op<kDp4a<int8_t, int8_t>> : &lane_op<kDp4a<int8_t, uint8_t>>)
            : (sb ? &lane_op<kDp4a<uint8_t, int8_t>> : &lane_op<kDp4a<uint8_t, uint8_t>>);
  else if (hi)
    op = sa ? (sb ? &lane_op<kDp2a<int16_t, int8_t, 2>> : &lane_op<kDp2a<int16_t, uint8_t, 2>>)
            : (sb ? &lane_op<kDp2a<uint16_t, int8_t, 2>> : &lane_op<kDp2a<uint16_t, uint8_t, 2>>);
  else
    op = sa ? (sb ? &lane_op<kDp2a<int16_t, int8_t, 0>> : &lane_op<kDp2a<int16_t, uint8_t, 0>>)
            : (sb ? &lane_op<kDp2a<uint16_t, int8_t, 0>> : &lane_op<kDp2a<uint16_t, uint8_t, 0>>);
  return emit_integer(l, form, op);
}

bool on_integers(const ptx::Instruction& instruction) {
  switch (first_type(instruction)) {
    case Type::kU16: case Type::kS16: case Type::kU32: case Type::kS32: case Type::kU64: case Type::kS64:
    case Type::kU16x2: case Type::kS16x2: return true;
    default: return false;
  }
}

constexpr OpEntry kOps[] = {
    {"add", on_integers, lower_add_sub},       {"sub", on_integers, lower_add_sub},
    {"mul", on_integers, lower_mul},           {"mad", on_integers, lower_mad},
    {"mul24", nullptr, lower_24},              {"mad24", nullptr, lower_24},
    {"sad", nullptr, lower_typed<sad_op>},     {"div", on_integers, lower_typed<div_op>},
    {"rem", on_integers, lower_typed<rem_op>}, {"abs", on_integers, lower_typed<abs_op>},
    {"neg", on_integers, lower_typed<neg_op>}, {"min", on_integers, lower_min_max},
    {"max", on_integers, lower_min_max},       {"dp4a", nullptr, lower_dot},
    {"dp2a", nullptr, lower_dot},
};

}  // namespace

std::span<const OpEntry> integer_ops() { return kOps; }

}  // namespace kw::emu
