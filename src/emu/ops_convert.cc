// cvt and cvt.pack: PTX ISA section 9.7.9. Every pair of types of sm_70 to sm_89 (and the narrow formats of
// later targets, which cost nothing here): vector loops for common forms, convert_lane() for the rest.
#include <bit>
#include <vector>

#include "emu/convert_lane.h"
#include "emu/float_lane.h"
#include "emu/form.h"

namespace kw::emu {
namespace {

using ptx::Type;
using tensor::DType;
using tensor::Rounding;

// --- Vector loops ---------------------------------------------------------------------------------------

template <typename D, typename S>
constexpr auto kCast = [](S a) -> D { return static_cast<D>(a); };
template <bool kFtz, bool kSat>
constexpr auto kFloatToFloat = [](float a) -> float {
  a = flush_if<kFtz>(a);
  if constexpr (kSat) return saturate(a);
  else return kFtz ? canonical(a) : a;   // with no modifier a copy
};
constexpr auto kDoubleToFloat = [](double a) -> float { return static_cast<float>(a); };   // keeps a NaN's payload
constexpr auto kTf32Away = [](float a) -> float {
  const uint32_t u = bits_of(a), rounded = (u + 0x1000u) & 0xffffe000u;
  return float_of(is_nan(a) ? u & 0xffffe000u : rounded);   // .rna only cuts a NaN
};

template <Rounding kRounding>
inline float integral(float x) {
  if constexpr (kRounding == Rounding::kTowardZero) return std::trunc(x);
  if constexpr (kRounding == Rounding::kDown) return std::floor(x);
  if constexpr (kRounding == Rounding::kUp) return std::ceil(x);
  return std::rint(x);
}
template <Rounding kRounding, bool kFtz>
constexpr auto kFloatToInt = [](float a) -> int32_t {
  const float r = integral<kRounding>(flush_if<kFtz>(a));
  const float low = r < -2147483648.0f ? -2147483648.0f : r;
  const float in = low > 2147483520.0f ? 2147483520.0f : low;
  const auto value = static_cast<int32_t>(is_nan(a) ? 0.0f : in);
  return r >= 2147483648.0f ? INT32_MAX : value;
};
template <Rounding kRounding, bool kFtz>
constexpr auto kFloatToUnsigned = [](float a) -> uint32_t {
  const float r = integral<kRounding>(flush_if<kFtz>(a));
  const float in = r >= 0.0f ? (r < 4294967040.0f ? r : 4294967040.0f) : 0.0f;
  const auto value = static_cast<uint32_t>(static_cast<int64_t>(in));
  return r >= 4294967296.0f ? UINT32_MAX : value;
};

// Whole-warp conversions between f32 and the 16-bit floats.
template <typename F>
void narrow_one(Warp& warp, const Insn& insn) {
  alignas(32) uint16_t h[kLanes];
  F::encode_lanes(slot<const float>(warp, insn.op[1]), h);
  store_lanes(slot<uint16_t>(warp, insn.op[0]), h, warp.exec);
}
template <typename F>
void widen_one(Warp& warp, const Insn& insn) {
  alignas(32) float x[kLanes];
  F::decode_lanes(slot<const uint16_t>(warp, insn.op[1]), x);
  if (std::is_same_v<F, Half>)   // bf16 is shifted, NaN and all
    for (int i = 0; i < kLanes; ++i) x[i] = canonical(x[i]);
  store_lanes(slot<float>(warp, insn.op[0]), x, warp.exec);
}
// op: d, a (upper half), b (lower half).
template <typename F>
void narrow_two_relu(Warp& warp, const Insn& insn) {
  alignas(32) uint16_t halves[2][kLanes];
  for (int part = 0; part < 2; ++part) {
    alignas(32) float x[kLanes];
    std::memcpy(x, slot<const float>(warp, insn.op[2 - part]), sizeof x);
    for (int i = 0; i < kLanes; ++i) x[i] = is_nan(x[i]) ? x[i] : x[i] > 0.0f ? x[i] : 0.0f;
    F::encode_lanes(x, halves[part]);
  }
  alignas(32) uint32_t words[kLanes];
  for (int i = 0; i < kLanes; ++i) words[i] = halves[0][i] | static_cast<uint32_t>(halves[1][i]) << 16;
  store_lanes(slot<uint32_t>(warp, insn.op[0]), words, warp.exec);
}
// The same by lanes, for the chained form.
template <typename F>
constexpr auto kNarrowTwo = [](float a, float b) -> uint32_t {
  return static_cast<uint32_t>(F::encode(a)) << 16 | F::encode(b);
};
#if defined(__AVX2__) && defined(__F16C__)
[[gnu::always_inline]] inline __m256 canonical_8(__m256 x) {
  return _mm256_blendv_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
constexpr auto kNarrowTwoHalves8 = [](__m256 a, __m256 b) -> __m256i {   // NaN 0x7fffffff becomes 0x7fff
  const __m128i high = _mm256_cvtps_ph(canonical_8(a), _MM_FROUND_TO_NEAREST_INT);
  const __m128i low = _mm256_cvtps_ph(canonical_8(b), _MM_FROUND_TO_NEAREST_INT);
  return _mm256_or_si256(_mm256_slli_epi32(_mm256_cvtepu16_epi32(high), 16), _mm256_cvtepu16_epi32(low));
};
constexpr auto kNarrowTwoBrains8 = [](__m256 a, __m256 b) -> __m256i {
  const auto rounded = [](__m256 x) {   // to nearest even in the upper half
    const __m256i u = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    const __m256i sum = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(sum, _mm256_set1_epi32(0x7fff0000), nan);
  };
  return _mm256_blend_epi16(_mm256_srli_epi32(rounded(b), 16), rounded(a), 0xaa);
};
constexpr const LaneOp* kNarrowTwoHalves = &vector_op<kNarrowTwo<Half>, kNarrowTwoHalves8>;
constexpr const LaneOp* kNarrowTwoBrains = &vector_op<kNarrowTwo<Brain>, kNarrowTwoBrains8>;
#else
constexpr const LaneOp* kNarrowTwoHalves = &lane_op<kNarrowTwo<Half>>;
constexpr const LaneOp* kNarrowTwoBrains = &lane_op<kNarrowTwo<Brain>>;
#endif
template <typename D, typename S>
LaneOp custom(Handler handler, uint8_t sources) {
  LaneOp op;
  op.full = op.masked = handler;
  op.result = sizeof(D);
  op.sources = sources;
  op.source[0] = op.source[1] = sizeof(S);
  return op;
}

// --- The general loops ----------------------------------------------------------------------------------

Conversion conversion_of(const Insn& insn) { return std::bit_cast<Conversion>(insn.imm); }

template <typename D, typename S>
void general(Warp& warp, const Insn& insn) {
  const Conversion c = conversion_of(insn);
  D* d = slot<D>(warp, insn.op[0]);
  const S* s = slot<const S>(warp, insn.op[1]);
  for (int i = 0; i < kLanes; ++i)
    if ((warp.exec >> i) & 1u) d[i] = static_cast<D>(convert_lane(s[i], c));
}
template <typename D>
Handler general_from(unsigned bytes) {
  switch (bytes) {
    case 1: return &general<D, uint8_t>;
    case 2: return &general<D, uint16_t>;
    case 4: return &general<D, uint32_t>;
    default: return &general<D, uint64_t>;
  }
}
Handler general_handler(unsigned to, unsigned from) {
  switch (to) {
    case 1: return general_from<uint8_t>(from);
    case 2: return general_from<uint16_t>(from);
    case 4: return general_from<uint32_t>(from);
    default: return general_from<uint64_t>(from);
  }
}
// Two floats to a packed pair: op d, a (upper), b (lower).
template <typename D>
void general_pack(Warp& warp, const Insn& insn) {
  const Conversion c = conversion_of(insn);
  const unsigned width = tensor::bits_of(c.to) == 6 ? 8 : tensor::bits_of(c.to);
  D* d = slot<D>(warp, insn.op[0]);
  const uint32_t* a = slot<const uint32_t>(warp, insn.op[1]);
  const uint32_t* b = slot<const uint32_t>(warp, insn.op[2]);
  for (int i = 0; i < kLanes; ++i)
    if ((warp.exec >> i) & 1u) d[i] = static_cast<D>(convert_lane(a[i], c) << width | convert_lane(b[i], c));
}
// A packed pair to a packed pair.
template <typename D, typename S>
void general_pair(Warp& warp, const Insn& insn) {
  const Conversion c = conversion_of(insn);
  const auto width = [](DType type) { return tensor::bits_of(type) == 6 ? 8u : tensor::bits_of(type); };
  const unsigned from = width(c.from), to = width(c.to);
  const uint64_t mask = (1ull << from) - 1;
  D* d = slot<D>(warp, insn.op[0]);
  const S* s = slot<const S>(warp, insn.op[1]);
  for (int i = 0; i < kLanes; ++i)
    if ((warp.exec >> i) & 1u) {
      const uint64_t word = s[i];
      d[i] = static_cast<D>(convert_lane((word >> from) & mask, c) << to | convert_lane(word & mask, c));
    }
}

// --- Lowering -------------------------------------------------------------------------------------------

// A scalar type, or the element of a packed one.
struct Element { DType type; unsigned count; };
bool element_of(Type type, Element& e) {
  switch (type) {
    case Type::kU8: e = {DType::kU8, 1}; return true;
    case Type::kS8: e = {DType::kI8, 1}; return true;
    case Type::kU16: e = {DType::kU16, 1}; return true;
    case Type::kS16: e = {DType::kI16, 1}; return true;
    case Type::kU32: e = {DType::kU32, 1}; return true;
    case Type::kS32: e = {DType::kI32, 1}; return true;
    case Type::kU64: e = {DType::kU64, 1}; return true;
    case Type::kS64: e = {DType::kI64, 1}; return true;
    case Type::kF16: e = {DType::kF16, 1}; return true;
    case Type::kBF16: e = {DType::kBF16, 1}; return true;
    case Type::kTF32: e = {DType::kTF32, 1}; return true;
    case Type::kF32: e = {DType::kF32, 1}; return true;
    case Type::kF64: e = {DType::kF64, 1}; return true;
    case Type::kF16x2: e = {DType::kF16, 2}; return true;
    case Type::kBF16x2: e = {DType::kBF16, 2}; return true;
    case Type::kE4M3x2: e = {DType::kE4M3, 2}; return true;
    case Type::kE5M2x2: e = {DType::kE5M2, 2}; return true;
    case Type::kE2M3x2: e = {DType::kE2M3, 2}; return true;
    case Type::kE3M2x2: e = {DType::kE3M2, 2}; return true;
    case Type::kE2M1x2: e = {DType::kE2M1, 2}; return true;
    case Type::kUE8M0x2: e = {DType::kUE8M0, 2}; return true;
    default: return false;
  }
}
bool is_narrow(DType type) {
  return tensor::is_float(type) && tensor::bits_of(type) <= 8;
}
unsigned significand_bits(DType type) {
  switch (type) {
    case DType::kF64: return 53;
    case DType::kF32: return 24;
    case DType::kF16: return 11;
    default: return 8;
  }
}
// Every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  if (from == to) return true;
  if (to == DType::kF64) return true;
  return to == DType::kF32 && (from == DType::kF16 || from == DType::kBF16);
}

template <typename D>
const LaneOp* integer_cast(DType from) {
  switch (from) {
    case DType::kU8: return &lane_op<kCast<D, uint8_t>>;
    case DType::kI8: return &lane_op<kCast<D, int8_t>>;
    case DType::kU16: return &lane_op<kCast<D, uint16_t>>;
    case DType::kI16: return &lane_op<kCast<D, int16_t>>;
    case DType::kU32: return &lane_op<kCast<D, uint32_t>>;
    case DType::kI32: return &lane_op<kCast<D, int32_t>>;
    case DType::kU64: return &lane_op<kCast<D, uint64_t>>;
    case DType::kI64: return &lane_op<kCast<D, int64_t>>;
    default: return nullptr;
  }
}
template <bool kFtz>
const LaneOp* float_to_integer(DType to, Rounding rounding) {
  const bool is_signed = to == DType::kI32;
  if (!is_signed && to != DType::kU32) return nullptr;
  switch (rounding) {
    case Rounding::kNearestEven:
      return is_signed ? &lane_op<kFloatToInt<Rounding::kNearestEven, kFtz>> : &lane_op<kFloatToUnsigned<Rounding::kNearestEven, kFtz>>;
    case Rounding::kTowardZero:
      return is_signed ? &lane_op<kFloatToInt<Rounding::kTowardZero, kFtz>> : &lane_op<kFloatToUnsigned<Rounding::kTowardZero, kFtz>>;
    case Rounding::kDown:
      return is_signed ? &lane_op<kFloatToInt<Rounding::kDown, kFtz>> : &lane_op<kFloatToUnsigned<Rounding::kDown, kFtz>>;
    case Rounding::kUp:
      return is_signed ? &lane_op<kFloatToInt<Rounding::kUp, kFtz>> : &lane_op<kFloatToUnsigned<Rounding::kUp, kFtz>>;
    case Rounding::kNearestAway: return nullptr;
  }
  return nullptr;
}

// The vector loop of a scalar conversion, or null.
const LaneOp* fast_scalar(const Conversion& c) {
  static const LaneOp to_half = custom<uint16_t, float>(&narrow_one<Half>, 1);
  static const LaneOp to_brain = custom<uint16_t, float>(&narrow_one<Brain>, 1);
  static const LaneOp from_half = custom<float, uint16_t>(&widen_one<Half>, 1);
  static const LaneOp from_brain = custom<float, uint16_t>(&widen_one<Brain>, 1);
  if (c.relu || c.satfinite) return nullptr;
  const bool nearest = c.rounding == Rounding::kNearestEven;
  if (!tensor::is_float(c.from)) {
    if (!tensor::is_float(c.to)) {
      if (c.sat) return nullptr;
      switch (tensor::bits_of(c.to)) {
        case 8: return integer_cast<uint8_t>(c.from);
        case 16: return integer_cast<uint16_t>(c.from);
        case 32: return integer_cast<uint32_t>(c.from);
        default: return integer_cast<uint64_t>(c.from);
      }
    }
    if (!nearest || c.sat) return nullptr;
    if (c.to == DType::kF32) return integer_cast<float>(c.from);
    return c.to == DType::kF64 ? integer_cast<double>(c.from) : nullptr;
  }
  if (c.from == DType::kF32 && !tensor::is_float(c.to))
    return c.ftz ? float_to_integer<true>(c.to, c.rounding) : float_to_integer<false>(c.to, c.rounding);
  if (c.integral) return nullptr;
  if (c.from == DType::kF32 && c.to == DType::kF32)
    return c.ftz ? (c.sat ? &lane_op<kFloatToFloat<true, true>> : &lane_op<kFloatToFloat<true, false>>)
                 : (c.sat ? &lane_op<kFloatToFloat<false, true>> : &lane_op<kFloatToFloat<false, false>>);
  if (c.sat || c.ftz) return nullptr;
  if (c.from == DType::kF16 && c.to == DType::kF32) return &from_half;
  if (c.from == DType::kBF16 && c.to == DType::kF32) return &from_brain;
  if (c.from == DType::kF32 && c.to == DType::kTF32 && c.rounding == Rounding::kNearestAway) return &lane_op<kTf32Away>;
  if (!nearest) return nullptr;
  if (c.from == DType::kF32 && c.to == DType::kF16) return &to_half;
  if (c.from == DType::kF32 && c.to == DType::kBF16) return &to_brain;
  if (c.from == DType::kF64 && c.to == DType::kF32) return &lane_op<kDoubleToFloat>;
  return nullptr;
}

bool is_byte(DType type) { return type == DType::kI8 || type == DType::kU8; }
// Two integer types of which `to` has every value of `from`, and is not the same.
bool holds_all(DType to, DType from) {
  if (!tensor::is_integer(to) || !tensor::is_integer(from) || to == from) return false;
  const unsigned wide = tensor::bits_of(to), narrow = tensor::bits_of(from);
  return wide > narrow && (tensor::is_signed(to) || !tensor::is_signed(from));
}

struct Modes { int to_integer, to_float, away; bool relu, satfinite, ftz, sat; };

// Whether the rounding modifiers are what the pair of types asks for; fills c.rounding and c.integral.
bool settle_rounding(const Modes& m, Conversion& c) {
  static constexpr Rounding kModes[4] = {Rounding::kNearestEven, Rounding::kTowardZero, Rounding::kDown, Rounding::kUp};
  const bool from_float = tensor::is_float(c.from), to_is_float = tensor::is_float(c.to);
  if (m.to_integer >= 0 && (m.to_float >= 0 || m.away >= 0)) return false;
  if (m.away >= 0) {
    if (c.to != DType::kTF32 || m.to_float >= 0) return false;
    c.rounding = Rounding::kNearestAway;
    return true;
  }
  if (from_float && !to_is_float) {
    if (m.to_integer < 0) return false;
    c.rounding = kModes[m.to_integer];
    return true;
  }
  if (!from_float && !to_is_float) return m.to_integer < 0 && m.to_float < 0;
  if (m.to_integer >= 0) {
    if (c.from != c.to) return false;
    c.integral = true;
    c.rounding = kModes[m.to_integer];
    return true;
  }
  if (m.to_float >= 0) {
    // A widening needs no rounding; PTX has it only between the packed narrow formats and f16x2, bf16x2.
    if (from_float && widens(c.from, c.to) && !is_narrow(c.from)) return false;
    c.rounding = kModes[m.to_float];
    return true;
  }
  return from_float && (widens(c.from, c.to) || (c.from == DType::kBF16 && c.to == DType::kF16));
}

Status lower_pair(Lowering& l, const Conversion& c, const Element& to, const Element& from, Type to_type, Type from_type) {
  const auto bytes = [](Type type, DType element) {
    return element == DType::kE2M1 ? 1u : is_narrow(element) ? 2u : ptx::size_bits(type) / 8;
  };
  const unsigned to_bytes = bytes(to_type, to.type), from_bytes = bytes(from_type, from.type);
  LaneOp op;
  op.result = static_cast<uint8_t>(to_bytes);
  op.source[0] = op.source[1] = static_cast<uint8_t>(from_bytes);
  if (from.count == 1) {
    if (from.type != DType::kF32) return l.unsupported();
    op.sources = 2;
    const bool plain = !c.satfinite && !c.sat && !c.ftz && c.rounding == Rounding::kNearestEven;
    Handler handler = to_bytes == 1 ? &general_pack<uint8_t> : to_bytes == 2 ? &general_pack<uint16_t> : &general_pack<uint32_t>;
    if (plain && !c.relu && to.type == DType::kF16) return emit_op(l, *kNarrowTwoHalves, Counters::kConversion);
    if (plain && !c.relu && to.type == DType::kBF16) return emit_op(l, *kNarrowTwoBrains, Counters::kConversion);
    if (plain && to.type == DType::kF16) handler = &narrow_two_relu<Half>;
    if (plain && to.type == DType::kBF16) handler = &narrow_two_relu<Brain>;
    op.full = op.masked = handler;
    return emit_op(l, op, Counters::kConversion, std::bit_cast<uint64_t>(c));
  }
  op.sources = 1;
  Handler handler = nullptr;
  if (to_bytes == 4) handler = from_bytes == 1 ? &general_pair<uint32_t, uint8_t> : from_bytes == 2 ? &general_pair<uint32_t, uint16_t> : nullptr;
  else if (from_bytes == 4) handler = to_bytes == 1 ? &general_pair<uint8_t, uint32_t> : &general_pair<uint16_t, uint32_t>;
  if (!handler || is_narrow(from.type) == is_narrow(to.type)) return l.unsupported();
  op.full = op.masked = handler;
  return emit_op(l, op, Counters::kConversion, std::bit_cast<uint64_t>(c));
}

Status lower_cvt(Lowering& l) {
  Form form(l.instruction());
  Modes m{};
  m.to_integer = form.take_one_of({"rni", "rzi", "rmi", "rpi"});
  m.to_float = form.take_one_of({"rn", "rz", "rm", "rp"});
  m.away = form.take_one_of({"rna"});
  Conversion c;
  c.relu = form.take("relu");
  c.satfinite = form.take("satfinite");
  c.ftz = form.take("ftz");
  c.sat = form.take("sat");
  const Type to_type = form.take_type(), from_type = form.take_type();
  Element to{}, from{};
  if (!form.done() || !element_of(to_type, to) || !element_of(from_type, from)) return l.unsupported();
  c.to = to.type;
  c.from = from.type;
  if (from.type == DType::kTF32 || !settle_rounding(m, c)) return l.unsupported();
  const bool floats = tensor::is_float(c.from) && tensor::is_float(c.to);
  if ((c.relu || c.satfinite) && (!floats || c.sat || c.integral || significand_bits(c.to) > 11)) return l.unsupported();
  if (c.ftz && c.from != DType::kF32 && c.to != DType::kF32) return l.unsupported();
  // Forms PTX lacks: saturation that cannot happen, bf16 to and from bytes.
  if (c.sat && holds_all(c.to, c.from)) return l.unsupported();
  if ((c.to == DType::kBF16 && is_byte(c.from)) || (c.from == DType::kBF16 && is_byte(c.to))) return l.unsupported();
  // The narrow formats are always saturated; what is not representable has no other meaning.
  if (is_narrow(c.to) && c.to != DType::kUE8M0 && !c.satfinite) return l.unsupported();
  if (to.count == 2 || from.count == 2) {
    if (to.count != 2 || c.sat) return l.unsupported();
    return lower_pair(l, c, to, from, to_type, from_type);
  }
  const bool sign_extend = tensor::is_integer(c.to) && tensor::is_signed(c.to);
  const uint64_t imm = std::bit_cast<uint64_t>(c);
  if (const LaneOp* fast = fast_scalar(c)) return emit_op(l, *fast, Counters::kConversion, imm, 0, sign_extend);
  LaneOp op;
  op.result = static_cast<uint8_t>(tensor::bits_of(c.to) / 8);
  op.sources = 1;
  op.source[0] = static_cast<uint8_t>(tensor::bits_of(c.from) / 8);
  op.full = op.masked = general_handler(op.result, op.source[0]);
  return emit_op(l, op, Counters::kConversion, imm, 0, sign_extend);
}

// --- cvt.pack: two saturated integers side by side, a above b, then c shifted above them ------------------

constexpr auto kPack = [](uint32_t a, uint32_t b, uint32_t c, Imm imm) -> uint32_t {
  const uint32_t width = imm.aux & 31u;
  const bool is_signed = (imm.aux & 32u) != 0;
  const uint32_t mask = (1u << width) - 1u;
  const auto most = static_cast<int32_t>(is_signed ? mask >> 1 : mask);
  const int32_t least = is_signed ? -most - 1 : 0;
  const auto clamp = [&](uint32_t x) {
    const auto v = static_cast<int32_t>(x);
    return static_cast<uint32_t>(v > most ? most : v < least ? least : v) & mask;
  };
  const uint32_t pair = clamp(a) << width | clamp(b);
  return width == 16 ? pair : pair | c << ((2 * width) & 31u);
};

Status lower_pack(Lowering& l) {
  Form form(l.instruction());
  if (!form.take("pack") || !form.take("sat")) return l.unsupported();
  struct Format { std::string_view name; uint32_t width; bool is_signed; };
  static constexpr Format kFormats[] = {{"u16", 16, false}, {"s16", 16, true}, {"u8", 8, false}, {"s8", 8, true},
                                        {"u4", 4, false},   {"s4", 4, true},   {"u2", 2, false}, {"s2", 2, true}};
  for (const Format& f : kFormats) {
    if (!form.take(f.name)) continue;
    const bool has_source = form.take("s32");
    const bool three = f.width != 16;
    if (!has_source || (three && !form.take("b32")) || !form.done()) return l.unsupported();
    const uint32_t aux = f.width | (f.is_signed ? 32u : 0u);
    if (three) return emit_op(l, lane_op<kPack>, Counters::kConversion, 0, aux);
    if (l.operand_count() != 3) return l.invalid(fmt::format("takes 3 operands, not {}", l.operand_count()));
    KW_TRY(const Vreg a, l.use(l.operand(1), 4));
    KW_TRY(const Vreg b, l.use(l.operand(2), 4));
    const Vreg zero = l.constant(0, 4);
    KW_TRY(const Vreg d, l.def(l.operand(0), 4));
    emit_on(l, lane_op<kPack>, Counters::kConversion, d, {a, b, zero}, 0, aux);
    return {};
  }
  return l.unsupported();
}

bool is_pack(const ptx::Instruction& instruction) { return instruction.has("pack"); }

constexpr OpEntry kOps[] = {{"cvt", is_pack, lower_pack}, {"cvt", nullptr, lower_cvt}};

}  // namespace

std::span<const OpEntry> convert_ops() { return kOps; }

}  // namespace kw::emu
