#include "emu/convert_loops.h"

#include <bit>

#include "emu/float_lane.h"

namespace kw::emu {
namespace {

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
// Of one element of a packed pair.
unsigned part_bits(DType type) { return tensor::bits_of(type) == 6 ? 8 : tensor::bits_of(type); }
// Two floats to a packed pair: op d, a (upper), b (lower).
template <typename D>
void general_pack(Warp& warp, const Insn& insn) {
  const Conversion c = conversion_of(insn);
  const unsigned width = part_bits(c.to);
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
  const unsigned from = part_bits(c.from), to = part_bits(c.to);
  const uint64_t mask = (1ull << from) - 1;
  D* d = slot<D>(warp, insn.op[0]);
  const S* s = slot<const S>(warp, insn.op[1]);
  for (int i = 0; i < kLanes; ++i)
    if ((warp.exec >> i) & 1u) {
      const uint64_t word = s[i];
      d[i] = static_cast<D>(convert_lane((word >> from) & mask, c) << to | convert_lane(word & mask, c));
    }
}

// --- Which of them --------------------------------------------------------------------------------------

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

LaneOp general_loop(Handler handler, unsigned to_bytes, unsigned from_bytes, uint8_t sources) {
  LaneOp op;
  op.full = op.masked = handler;
  op.result = static_cast<uint8_t>(to_bytes);
  op.sources = sources;
  op.source[0] = op.source[1] = static_cast<uint8_t>(from_bytes);
  return op;
}

}  // namespace

LaneOp scalar_conversion(const Conversion& c) {
  if (const LaneOp* const fast = fast_scalar(c)) return *fast;
  const unsigned to_bytes = tensor::bits_of(c.to) / 8, from_bytes = tensor::bits_of(c.from) / 8;
  return general_loop(general_handler(to_bytes, from_bytes), to_bytes, from_bytes, 1);
}

LaneOp packing_conversion(const Conversion& c, unsigned to_bytes) {
  Handler handler = to_bytes == 1   ? &general_pack<uint8_t>
                    : to_bytes == 2 ? &general_pack<uint16_t>
                                    : &general_pack<uint32_t>;
  if (!c.satfinite && !c.sat && !c.ftz && c.rounding == Rounding::kNearestEven) {
    if (!c.relu && c.to == DType::kF16) return *kNarrowTwoHalves;
    if (!c.relu && c.to == DType::kBF16) return *kNarrowTwoBrains;
    if (c.to == DType::kF16) handler = &narrow_two_relu<Half>;
    if (c.to == DType::kBF16) handler = &narrow_two_relu<Brain>;
  }
  return general_loop(handler, to_bytes, sizeof(float), 2);
}

LaneOp pair_conversion(unsigned to_bytes, unsigned from_bytes) {
  Handler handler = nullptr;
  if (to_bytes == 4) {
    handler = from_bytes == 1   ? &general_pair<uint32_t, uint8_t>
              : from_bytes == 2 ? &general_pair<uint32_t, uint16_t>
                                : nullptr;
  } else if (from_bytes == 4) {
    handler = to_bytes == 1 ? &general_pair<uint8_t, uint32_t> : &general_pair<uint16_t, uint32_t>;
  }
  return general_loop(handler, to_bytes, from_bytes, 1);
}

}  // namespace kw::emu
