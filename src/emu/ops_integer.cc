// Integer arithmetic: PTX ISA section 9.7.1 and 9.7.2 (extended precision). Video instructions are in
// ops_video.cc, appended to this table.
//
// Division by zero follows hardware (PTX leaves it open): quotient and remainder are all ones.
#include <algorithm>
#include <limits>
#include <vector>

#include "emu/form.h"

namespace kw::emu {
namespace {

using ptx::Type;

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

// Arithmetic that wraps: done unsigned, at 32 bits at least (16-bit operands would promote to int).
template <typename T>
using Wide = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
template <typename T>
constexpr T wrap(Wide<T> value) { return static_cast<T>(value); }

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

// The type that holds a whole product.
template <typename T> struct Product;
template <> struct Product<int16_t> { using type = int32_t; };
template <> struct Product<uint16_t> { using type = uint32_t; };
template <> struct Product<int32_t> { using type = int64_t; };
template <> struct Product<uint32_t> { using type = uint64_t; };
template <> struct Product<int64_t> { using type = Int128; };
template <> struct Product<uint64_t> { using type = Uint128; };
template <typename T>
constexpr typename Product<T>::type product(T a, T b) {
  using P = typename Product<T>::type;
  return static_cast<P>(static_cast<P>(a) * static_cast<P>(b));
}
template <typename T>
constexpr T high(T a, T b) { return static_cast<T>(product(a, b) >> (8 * sizeof(T))); }

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
constexpr auto kPopc = [](T a) -> uint32_t { return static_cast<uint32_t>(std::popcount(a)); };
template <typename T>
constexpr auto kClz = [](T a) -> uint32_t { return static_cast<uint32_t>(std::countl_zero(a)); };
// The position of the most significant bit that is not the sign, or the shift that would bring it to the top.
template <typename T, bool kShiftAmount>
constexpr auto kBfind = [](T a) -> uint32_t {
  using U = Unsigned<T>;
  const U bits = static_cast<U>(a < 0 ? ~a : a);
  const int zeros = std::countl_zero(bits);
  if (zeros == 8 * sizeof(T)) return 0xffffffffu;
  return static_cast<uint32_t>(kShiftAmount ? zeros : static_cast<int>(8 * sizeof(T)) - 1 - zeros);
};
constexpr uint32_t reverse(uint32_t v) {
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  v = (v >> 8 & 0x00ff00ffu) | (v & 0x00ff00ffu) << 8;
  return v >> 16 | v << 16;
}
constexpr auto kBrev32 = [](uint32_t a) -> uint32_t { return reverse(a); };
constexpr auto kBrev64 = [](uint64_t a) -> uint64_t {
  return uint64_t{reverse(static_cast<uint32_t>(a))} << 32 | reverse(static_cast<uint32_t>(a >> 32));
};

// n low ones, n up to the width.
template <typename U>
constexpr U ones(uint32_t n) {
  constexpr uint32_t width = 8 * sizeof(U);
  return static_cast<U>(n >= width ? ~U{0} : (U{1} << (n & (width - 1))) - 1);
}
template <typename T>
constexpr auto kBfe = [](T a, uint32_t position, uint32_t length) -> T {
  using U = Unsigned<T>;
  constexpr uint32_t width = 8 * sizeof(T), top = width - 1;
  position &= 0xff;
  length &= 0xff;
  const auto bits = static_cast<U>(a);
  const uint32_t last = position + length - 1 < top ? position + length - 1 : top;
  const U sign = std::is_signed_v<T> && length != 0 ? static_cast<U>(bits >> (last & top)) & U{1} : U{0};
  const uint32_t room = position > top ? 0 : width - position;
  const uint32_t count = length < room ? length : room;
  const U field = position > top ? U{0} : static_cast<U>(bits >> (position & top));
  const U keep = ones<U>(count);
  return static_cast<T>((field & keep) | (sign ? static_cast<U>(~keep) : U{0}));
};
// imm: position and length are operands 2 and 3, so the fourth source is read by hand.
template <typename U>
void bfi(Warp& warp, const Insn& insn) {
  constexpr uint32_t width = 8 * sizeof(U), top = width - 1;
  U* d = slot<U>(warp, insn.more[0]);
  const U* a = slot<const U>(warp, insn.more[1]);
  const U* b = slot<const U>(warp, insn.more[2]);
  const uint32_t* positions = slot<const uint32_t>(warp, insn.more[3]);
  const uint32_t* lengths = slot<const uint32_t>(warp, insn.more[4]);
  alignas(32) U result[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t position = positions[i] & 0xff, length = lengths[i] & 0xff;
    const U keep = position > top ? U{0} : static_cast<U>(ones<U>(length) << (position & top));
    const U field = position > top ? U{0} : static_cast<U>(a[i] << (position & top));
    result[i] = static_cast<U>((b[i] & ~keep) | (field & keep));
  }
  store_lanes(d, result, warp.exec);
}

template <bool kSigned, bool kClamp>
constexpr auto kSzext = [](uint32_t a, uint32_t bits) -> uint32_t {
  const uint32_t n = bits & 31u;
  const bool whole = kClamp && bits >= 32;
  const uint32_t above = whole ? 0 : ~0u << n;
  const bool sign = kSigned && !whole && n != 0 && ((a >> ((n - 1) & 31u)) & 1u);
  return (a & ~above) | (sign ? above : 0);
};
template <bool kClamp>
constexpr auto kBmsk = [](uint32_t start, uint32_t width) -> uint32_t {
  const uint32_t a = start & 31u, b = width & 31u, sum = a + b;
  const uint32_t from = kClamp && start >= 32 ? 0 : ~0u << a;
  const uint32_t beyond = sum >= 32 || (kClamp && width >= 32) ? 0 : ~0u << (sum & 31u);
  return from & ~beyond;
};
// The n-th set bit from `base`, counting up or down.
constexpr auto kFns = [](uint32_t mask, uint32_t base, int32_t offset) -> uint32_t {
  if (base >= 32) return 0xffffffffu;
  if (offset == 0) return (mask >> base) & 1u ? base : 0xffffffffu;
  const int step = offset > 0 ? 1 : -1;
  int64_t count = std::abs(int64_t{offset}) - 1;
  for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step)
    if ((mask >> position) & 1u) {
      if (count == 0) return static_cast<uint32_t>(position);
      --count;
    }
  return 0xffffffffu;
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

// --- Carry chains: op = d, a, b (, c) in `more`; CC.CF is a predicate ------------------------------------

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

Status finish(Lowering& l, const Form& form, const LaneOp* op) {
  if (!op || !form.done()) return l.unsupported();
  return emit_op(l, *op, Counters::kInteger);
}

Status lower_add_sub(Lowering& l) {
  Form form(l.instruction());
  const bool add = l.instruction().opcode == "add";
  if (form.take("cc")) return lower_carry(l, form, add ? CarryOp::kAdd : CarryOp::kSub, false, true);
  const bool sat = form.take("sat");
  const Type type = form.take_type();
  const LaneOp* op = nullptr;
  if (sat && type == Type::kS32) op = add ? &lane_op<kAddSat> : &lane_op<kSubSat>;
  else if (type == Type::kU16x2 && add) op = sat ? &lane_op<kPair<uint16_t, kAddSat16<uint16_t>>> : &lane_op<kPair<uint16_t, kAdd<uint16_t>>>;
  else if (type == Type::kS16x2 && add) op = sat ? &lane_op<kPair<int16_t, kAddSat16<int16_t>>> : &lane_op<kPair<int16_t, kAdd<int16_t>>>;
  else if (!sat) op = add ? KW_INTEGER_TYPES(kAdd, type) : KW_INTEGER_TYPES(kSub, type);
  return finish(l, form, op);
}

Status lower_addc(Lowering& l) {
  Form form(l.instruction());
  const bool out = form.take("cc");
  return lower_carry(l, form, l.instruction().opcode == "addc" ? CarryOp::kAdd : CarryOp::kSub, true, out);
}

Status lower_mul(Lowering& l) {
  Form form(l.instruction());
  const int part = form.take_one_of({"lo", "hi", "wide"});
  const Type type = form.take_type();
  const LaneOp* op = part == 0 ? KW_INTEGER_TYPES(kMulLo, type)
                     : part == 1 ? KW_INTEGER_TYPES(kMulHi, type)
                     : part == 2 ? KW_NARROW_TYPES(kMulWide, type) : nullptr;
  return finish(l, form, op);
}

Status lower_mad(Lowering& l) {
  Form form(l.instruction());
  const int part = form.take_one_of({"lo", "hi", "wide"});
  if (l.instruction().opcode == "madc") {
    const bool out = form.take("cc");
    if (part != 0 && part != 1) return l.unsupported();
    return lower_carry(l, form, part == 0 ? CarryOp::kMadLo : CarryOp::kMadHi, true, out);
  }
  if (form.take("cc")) {
    if (part != 0 && part != 1) return l.unsupported();
    return lower_carry(l, form, part == 0 ? CarryOp::kMadLo : CarryOp::kMadHi, false, true);
  }
  const bool sat = form.take("sat");
  const Type type = form.take_type();
  const LaneOp* op = nullptr;
  if (sat) op = part == 1 && type == Type::kS32 ? &lane_op<kMadHiSat> : nullptr;
  else if (part == 0) op = KW_INTEGER_TYPES(kMadLo, type);
  else if (part == 1) op = KW_INTEGER_TYPES(kMadHi, type);
  else if (part == 2) op = KW_NARROW_TYPES(kMadWide, type);
  return finish(l, form, op);
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
  return finish(l, form, op);
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
  return finish(l, form, op);
}

template <const LaneOp* (*kSelect)(Type)>
Status lower_typed(Lowering& l) {
  Form form(l.instruction());
  const Type type = form.take_type();
  return finish(l, form, kSelect(type));
}
const LaneOp* sad_op(Type type) { return KW_INTEGER_TYPES(kSad, type); }
const LaneOp* div_op(Type type) { return KW_INTEGER_TYPES(kDiv, type); }
const LaneOp* rem_op(Type type) { return KW_INTEGER_TYPES(kRem, type); }
const LaneOp* abs_op(Type type) { return KW_SIGNED_TYPES(kAbs, type); }
const LaneOp* neg_op(Type type) { return KW_SIGNED_TYPES(kNeg, type); }
const LaneOp* popc_op(Type type) {
  return type == Type::kB32 ? &lane_op<kPopc<uint32_t>> : type == Type::kB64 ? &lane_op<kPopc<uint64_t>> : nullptr;
}
const LaneOp* clz_op(Type type) {
  return type == Type::kB32 ? &lane_op<kClz<uint32_t>> : type == Type::kB64 ? &lane_op<kClz<uint64_t>> : nullptr;
}
const LaneOp* brev_op(Type type) {
  return type == Type::kB32 ? &lane_op<kBrev32> : type == Type::kB64 ? &lane_op<kBrev64> : nullptr;
}
const LaneOp* bfe_op(Type type) {
  switch (type) {
    case Type::kU32: return &lane_op<kBfe<uint32_t>>;
    case Type::kS32: return &lane_op<kBfe<int32_t>>;
    case Type::kU64: return &lane_op<kBfe<uint64_t>>;
    case Type::kS64: return &lane_op<kBfe<int64_t>>;
    default: return nullptr;
  }
}
const LaneOp* fns_op(Type type) { return type == Type::kB32 ? &lane_op<kFns> : nullptr; }

template <bool kShiftAmount>
const LaneOp* bfind_op(Type type) {
  switch (type) {
    case Type::kU32: return &lane_op<kBfind<uint32_t, kShiftAmount>>;
    case Type::kS32: return &lane_op<kBfind<int32_t, kShiftAmount>>;
    case Type::kU64: return &lane_op<kBfind<uint64_t, kShiftAmount>>;
    case Type::kS64: return &lane_op<kBfind<int64_t, kShiftAmount>>;
    default: return nullptr;
  }
}
Status lower_bfind(Lowering& l) {
  Form form(l.instruction());
  const bool shift = form.take("shiftamt");
  const Type type = form.take_type();
  return finish(l, form, shift ? bfind_op<true>(type) : bfind_op<false>(type));
}

Status lower_bfi(Lowering& l) {
  Form form(l.instruction());
  const Type type = form.take_type();
  const Handler handler = type == Type::kB32 ? &bfi<uint32_t> : type == Type::kB64 ? &bfi<uint64_t> : nullptr;
  if (!handler || !form.done()) return l.unsupported();
  if (l.operand_count() != 5) return l.invalid(fmt::format("takes 5 operands, not {}", l.operand_count()));
  const unsigned bytes = ptx::size_bits(type) / 8;
  Vreg uses[4];
  for (size_t i = 0; i < 4; ++i) {
    KW_TRY(uses[i], l.use(l.operand(i + 1), i < 2 ? bytes : 4));
  }
  KW_TRY(const Vreg destination, l.def(l.operand(0), bytes));
  const Vreg defs[1] = {destination};
  Insn& insn = l.emit(handler, handler, Counters::kInteger);
  l.set_more(insn, defs, uses);
  return {};
}

Status lower_szext_bmsk(Lowering& l) {
  Form form(l.instruction());
  const int mode = form.take_one_of({"clamp", "wrap"});
  const Type type = form.take_type();
  const LaneOp* op = nullptr;
  if (mode < 0) return l.unsupported();
  if (l.instruction().opcode == "bmsk") {
    if (type == Type::kB32) op = mode == 0 ? &lane_op<kBmsk<true>> : &lane_op<kBmsk<false>>;
  } else if (type == Type::kU32) {
    op = mode == 0 ? &lane_op<kSzext<false, true>> : &lane_op<kSzext<false, false>>;
  } else if (type == Type::kS32) {
    op = mode == 0 ? &lane_op<kSzext<true, true>> : &lane_op<kSzext<true, false>>;
  }
  return finish(l, form, op);
}

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
  return finish(l, form, op);
}

bool on_integers(const ptx::Instruction& instruction) {
  switch (first_type(instruction)) {
    case Type::kU16: case Type::kS16: case Type::kU32: case Type::kS32: case Type::kU64: case Type::kS64:
    case Type::kU16x2: case Type::kS16x2: return true;
    default: return false;
  }
}

constexpr OpEntry kOps[] = {
    {"add", on_integers, lower_add_sub}, {"sub", on_integers, lower_add_sub},
    {"addc", nullptr, lower_addc},       {"subc", nullptr, lower_addc},
    {"mul", on_integers, lower_mul},     {"mad", on_integers, lower_mad},
    {"madc", nullptr, lower_mad},        {"mul24", nullptr, lower_24},
    {"mad24", nullptr, lower_24},        {"sad", nullptr, lower_typed<sad_op>},
    {"div", on_integers, lower_typed<div_op>}, {"rem", on_integers, lower_typed<rem_op>},
    {"abs", on_integers, lower_typed<abs_op>}, {"neg", on_integers, lower_typed<neg_op>},
    {"min", on_integers, lower_min_max}, {"max", on_integers, lower_min_max},
    {"popc", nullptr, lower_typed<popc_op>}, {"clz", nullptr, lower_typed<clz_op>},
    {"bfind", nullptr, lower_bfind},     {"brev", nullptr, lower_typed<brev_op>},
    {"bfe", nullptr, lower_typed<bfe_op>}, {"bfi", nullptr, lower_bfi},
    {"szext", nullptr, lower_szext_bmsk}, {"bmsk", nullptr, lower_szext_bmsk},
    {"fns", nullptr, lower_typed<fns_op>}, {"dp4a", nullptr, lower_dot}, {"dp2a", nullptr, lower_dot},
};

}  // namespace

std::span<const OpEntry> video_ops();   // ops_video.cc

std::span<const OpEntry> integer_ops() {
  static const std::vector<OpEntry> all = [] {
    std::vector<OpEntry> entries(std::begin(kOps), std::end(kOps));
    const std::span<const OpEntry> video = video_ops();
    entries.insert(entries.end(), video.begin(), video.end());
    return entries;
  }();
  return all;
}

}  // namespace kw::emu
