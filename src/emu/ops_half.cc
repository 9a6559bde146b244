// f16, f16x2, bf16, bf16x2 arithmetic: PTX ISA sections 9.7.4 and 9.7.5.
//
// Computed in float, 32 lanes at a time, and rounded once: a sum or product rounded to 24 bits and then to 11
// or 8 is the correctly rounded one (24 >= 2 * 11 + 2); a fused multiply-add is first rounded to odd, which no
// later rounding can tell from the exact value.
#include "emu/approx.h"
#include "emu/form.h"

namespace kw::emu {
namespace {

using ptx::Type;

// a * b + c rounded to odd in 24 bits, all in double lanes. kTiny: the result may be a denormal of float.
template <bool kTiny>
inline float fma_odd(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b), addend = static_cast<double>(c);
  const double sum = product + addend;
  // The exact error of the sum (Knuth's TwoSum; NaN where an operand is infinite): when there is one and the
  // last bit is 0, one step towards the exact value.
  const double part = sum - product;
  const double error = (product - (sum - part)) + (addend - part);
  const uint64_t u = bits_of(sum);
  const uint64_t step = 1 - 2 * ((bits_of(error) ^ u) >> 63);
  const uint64_t inexact = (error > 0.0) | (error < 0.0) ? 1u : 0u;
  const uint64_t odd = u + step * (inexact & ~u & 1u);
  // To 24 bits: what is cut sets the last bit that stays.
  constexpr uint64_t kCut = 0x1fffffffull;
  const uint64_t narrow = (odd & ~kCut) | ((odd & kCut) != 0 ? kCut + 1 : 0u);
  const bool finite = std::fabs(sum) < std::numeric_limits<double>::infinity();
  double result = double_of(finite ? narrow : u);
  if constexpr (kTiny) {   // the same on the grid of float's denormals
    const double scaled = double_of(odd) * 0x1p149, whole = std::trunc(scaled);
    const bool even = std::trunc(whole * 0.5) * 2.0 == whole;
    const double stuck = (whole != scaled) & even ? whole + std::copysign(1.0, scaled) : whole;
    result = std::fabs(sum) < 0x1p-126 ? std::copysign(stuck * 0x1p-149, sum) : result;
  }
  return static_cast<float>(result);
}

constexpr uint32_t kFtz = 1, kSat = 2, kRelu = 4, kTruncate = 8;   // in aux

template <typename F>
void load_part(Warp& warp, uint32_t offset, bool packed, int part, bool ftz, float* out) {
  alignas(32) uint16_t h[kLanes];
  if (packed) {
    const uint32_t* words = slot<const uint32_t>(warp, offset);
    const int shift = 16 * part;
    for (int i = 0; i < kLanes; ++i) h[i] = static_cast<uint16_t>(words[i] >> shift);
  } else {
    std::memcpy(h, slot<const uint16_t>(warp, offset), sizeof h);
  }
  if (ftz)
    for (int i = 0; i < kLanes; ++i) h[i] = (h[i] & F::kExponent) == 0 ? static_cast<uint16_t>(h[i] & 0x8000u) : h[i];
  F::decode_lanes(h, out);
}

template <typename F>
void finish_part(float* r, uint32_t flags, uint16_t* h) {
  if (flags & kSat)
    for (int i = 0; i < kLanes; ++i) r[i] = saturate(r[i]);
  if (flags & kRelu)
    for (int i = 0; i < kLanes; ++i) r[i] = is_nan(r[i]) ? r[i] : r[i] > 0.0f ? r[i] : 0.0f;
  F::encode_lanes(r, h);
  if (flags & kTruncate) {   // what is not negative, towards zero
    alignas(32) float back[kLanes];
    F::decode_lanes(h, back);
    for (int i = 0; i < kLanes; ++i) h[i] = static_cast<uint16_t>(h[i] - ((back[i] > r[i]) & (back[i] < std::numeric_limits<float>::infinity())));
  }
  if (flags & kFtz) {
    // Denormal after rounding as if exponents had no end: below the least normal number by more than half a unit there.
    const float tiny = flags & kTruncate ? F::kLeastNormal : F::kLeastNormal * (1.0f - F::kHalfUnit);
    for (int i = 0; i < kLanes; ++i) h[i] = std::fabs(r[i]) < tiny ? static_cast<uint16_t>(h[i] & 0x8000u) : h[i];
  }
}

// op: d, a[, b[, c]]; aux: kFtz …
template <typename F, bool kPacked, int kSources, auto kOp>
void half_op(Warp& warp, const Insn& insn) {
  alignas(32) uint16_t results[2][kLanes];
  constexpr int kParts = kPacked ? 2 : 1;
  for (int part = 0; part < kParts; ++part) {
    alignas(32) float a[kLanes], b[kLanes], c[kLanes];
    const bool ftz = (insn.aux & kFtz) != 0;
    load_part<F>(warp, insn.op[1], kPacked, part, ftz, a);
    if constexpr (kSources > 1) load_part<F>(warp, insn.op[2], kPacked, part, ftz, b);
    if constexpr (kSources > 2) load_part<F>(warp, insn.op[3], kPacked, part, ftz, c);
    for (int i = 0; i < kLanes; ++i) {
      if constexpr (kSources == 1) a[i] = kOp(a[i]);
      else if constexpr (kSources == 2) a[i] = kOp(a[i], b[i]);
      else a[i] = kOp(a[i], b[i], c[i]);
    }
    finish_part<F>(a, insn.aux, results[part]);
  }
  if constexpr (kPacked) {
    alignas(32) uint32_t words[kLanes];
    for (int i = 0; i < kLanes; ++i) words[i] = results[0][i] | static_cast<uint32_t>(results[1][i]) << 16;
    store_lanes(slot<uint32_t>(warp, insn.op[0]), words, warp.exec);
  } else {
    store_lanes(slot<uint16_t>(warp, insn.op[0]), results[0], warp.exec);
  }
}

constexpr auto kAdd = [](float a, float b) { return a + b; };
constexpr auto kSub = [](float a, float b) { return a - b; };
constexpr auto kMul = [](float a, float b) { return a * b; };
template <bool kTiny>
constexpr auto kFma = [](float a, float b, float c) { return fma_odd<kTiny>(a, b, c); };
template <bool kMax, bool kNan>
constexpr auto kMinMax = [](float a, float b) { return min_max<kMax, kNan>(a, b); };
template <bool kMax, bool kNan>
constexpr auto kMinMaxXor = [](float a, float b) { return min_max_xorsign<kMax, kNan>(a, b); };
// Hardware reads 23 bits of the fraction and cuts the result: with that, every result of ex2 has its bits.
constexpr auto kEx2 = [](float a) { return approx_exp2(std::fabs(a) < 0x1p-23f ? 0.0f : a); };
constexpr auto kTanh = [](float a) { return approx_tanh(a); };

// Packed f16 with no modifiers, all lanes of a word together.
template <auto kOp>
constexpr auto kPacked2 = [](uint32_t a, uint32_t b) -> uint32_t {
  const auto one = [](uint32_t x, uint32_t y) -> uint32_t {
    return Half::encode(kOp(Half::decode(static_cast<uint16_t>(x)), Half::decode(static_cast<uint16_t>(y))));
  };
  return one(a >> 16, b >> 16) << 16 | one(a, b);
};
constexpr auto kPackedFma = [](uint32_t a, uint32_t b, uint32_t c) -> uint32_t {
  const auto one = [](uint32_t x, uint32_t y, uint32_t z) -> uint32_t {
    return Half::encode(fma_odd<false>(Half::decode(static_cast<uint16_t>(x)), Half::decode(static_cast<uint16_t>(y)),
                                       Half::decode(static_cast<uint16_t>(z))));
  };
  return one(a >> 16, b >> 16, c >> 16) << 16 | one(a, b, c);
};
#if defined(__AVX2__) && defined(__F16C__)
struct Pair8 { __m256 low, high; };
[[gnu::always_inline]] inline Pair8 widen_pairs(__m256i words) {
  const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,
                                         0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
  const __m256i grouped = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(words, order), 0xd8);
  return {_mm256_cvtph_ps(_mm256_castsi256_si128(grouped)), _mm256_cvtph_ps(_mm256_extracti128_si256(grouped, 1))};
}
[[gnu::always_inline]] inline __m256i narrow_pairs(__m256 low, __m256 high) {
  const auto halves = [](__m256 x) {   // NaN 0x7fffffff becomes 0x7fff
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(_mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q)), _MM_FROUND_TO_NEAREST_INT));
  };
  return _mm256_or_si256(_mm256_slli_epi32(halves(high), 16), halves(low));
}
// a * b + c rounded to odd in 24 bits. The product of two halves is exact in float, and no float here is denormal or
// overflows, so TwoSum gives the exact error of the sum (fma_odd says the rest).
[[gnu::always_inline]] inline __m256 fma_odd_8(__m256 a, __m256 b, __m256 c) {
  const __m256 product = _mm256_mul_ps(a, b), sum = _mm256_add_ps(product, c), part = _mm256_sub_ps(sum, product);
  const __m256 error = _mm256_add_ps(_mm256_sub_ps(product, _mm256_sub_ps(sum, part)), _mm256_sub_ps(c, part));
  const __m256i u = _mm256_castps_si256(sum), one = _mm256_set1_epi32(1);
  const __m256i inexact = _mm256_castps_si256(_mm256_cmp_ps(error, _mm256_setzero_ps(), _CMP_NEQ_OQ));
  const __m256i even = _mm256_cmpeq_epi32(_mm256_and_si256(u, one), _mm256_setzero_si256());
  const __m256i step = _mm256_or_si256(_mm256_srai_epi32(_mm256_xor_si256(_mm256_castps_si256(error), u), 31), one);
  return _mm256_castsi256_ps(_mm256_add_epi32(u, _mm256_and_si256(step, _mm256_and_si256(inexact, even))));
}
template <char kOp>
constexpr auto kPacked2Eight = [](__m256i a, __m256i b) -> __m256i {
  const auto op = [](__m256 x, __m256 y) {
    return kOp == '+' ? _mm256_add_ps(x, y) : kOp == '-' ? _mm256_sub_ps(x, y) : _mm256_mul_ps(x, y);
  };
  const Pair8 x = widen_pairs(a), y = widen_pairs(b);
  return narrow_pairs(op(x.low, y.low), op(x.high, y.high));
};
constexpr auto kPackedFmaEight = [](__m256i a, __m256i b, __m256i c) -> __m256i {
  const Pair8 x = widen_pairs(a), y = widen_pairs(b), z = widen_pairs(c);
  return narrow_pairs(fma_odd_8(x.low, y.low, z.low), fma_odd_8(x.high, y.high, z.high));
};
constexpr const LaneOp* kPackedOps[4] = {
    &vector_op<kPacked2<kAdd>, kPacked2Eight<'+'>>, &vector_op<kPacked2<kSub>, kPacked2Eight<'-'>>,
    &vector_op<kPacked2<kMul>, kPacked2Eight<'*'>>, &vector_op<kPackedFma, kPackedFmaEight>};
#else
constexpr const LaneOp* kPackedOps[4] = {&lane_op<kPacked2<kAdd>>, &lane_op<kPacked2<kSub>>, &lane_op<kPacked2<kMul>>,
                                         &lane_op<kPackedFma>};
#endif

// The handler of an operation for each of the four types.
template <int kSources, auto kOp>
Handler handler_for(Type type) {
  switch (type) {
    case Type::kF16: return &half_op<Half, false, kSources, kOp>;
    case Type::kF16x2: return &half_op<Half, true, kSources, kOp>;
    case Type::kBF16: return &half_op<Brain, false, kSources, kOp>;
    case Type::kBF16x2: return &half_op<Brain, true, kSources, kOp>;
    default: return nullptr;
  }
}

bool is_f16(Type type) { return type == Type::kF16 || type == Type::kF16x2; }

Status emit_half(Lowering& l, const Form& form, Handler handler, Type type, unsigned sources, uint32_t flags,
                 Counters::Class instruction_class = Counters::kHalf) {
  if (!handler || !form.done()) return l.unsupported();
  LaneOp op;
  op.full = op.masked = handler;
  op.sources = static_cast<uint8_t>(sources);
  op.result = op.source[0] = op.source[1] = op.source[2] = static_cast<uint8_t>(ptx::size_bits(type) / 8);
  return emit_op(l, op, instruction_class, 0, flags);
}

Status lower_arithmetic(Lowering& l) {
  Form form(l.instruction());
  const std::string_view opcode = l.instruction().opcode;
  const bool fused = opcode == "fma";
  const bool rn = form.take("rn");
  if (fused && !rn) return l.unsupported();
  uint32_t flags = form.take("ftz") ? kFtz : 0;
  if (form.take("sat")) flags |= kSat;
  if (fused && form.take("relu")) flags |= kRelu;
  const Type type = form.take_type();
  if (!is_f16(type) && (flags & (kFtz | kSat))) return l.unsupported();
  if ((flags & kSat) && (flags & kRelu)) return l.unsupported();
  if (type == Type::kF16x2 && flags == 0 && form.done())
    return emit_op(l, *kPackedOps[fused ? 3 : opcode == "add" ? 0 : opcode == "sub" ? 1 : 2], Counters::kHalf);
  const Handler handler = fused             ? (is_f16(type) ? handler_for<3, kFma<false>>(type) : handler_for<3, kFma<true>>(type))
                          : opcode == "add" ? handler_for<2, kAdd>(type)
                          : opcode == "sub" ? handler_for<2, kSub>(type)
                                            : handler_for<2, kMul>(type);
  return emit_half(l, form, handler, type, fused ? 3 : 2, flags);
}

Status lower_min_max(Lowering& l) {
  Form form(l.instruction());
  const bool max = l.instruction().opcode == "max";
  const bool ftz = form.take("ftz"), nan = form.take("NaN"), xorsign = form.take("xorsign"), abs = form.take("abs");
  const Type type = form.take_type();
  if (xorsign != abs || (ftz && !is_f16(type))) return l.unsupported();
  Handler handler = nullptr;
  if (xorsign)
    handler = max ? (nan ? handler_for<2, kMinMaxXor<true, true>>(type) : handler_for<2, kMinMaxXor<true, false>>(type))
                  : (nan ? handler_for<2, kMinMaxXor<false, true>>(type) : handler_for<2, kMinMaxXor<false, false>>(type));
  else
    handler = max ? (nan ? handler_for<2, kMinMax<true, true>>(type) : handler_for<2, kMinMax<true, false>>(type))
                  : (nan ? handler_for<2, kMinMax<false, true>>(type) : handler_for<2, kMinMax<false, false>>(type));
  return emit_half(l, form, handler, type, 2, ftz ? kFtz : 0);
}

Status lower_special(Lowering& l) {
  Form form(l.instruction());
  const bool ex2 = l.instruction().opcode == "ex2";
  if (!form.take("approx")) return l.unsupported();
  const bool ftz = form.take("ftz");
  const Type type = form.take_type();
  // ftz is part of the bf16 forms of ex2 and of no other.
  if (ftz != (ex2 && !is_f16(type))) return l.unsupported();
  const Handler handler = ex2 ? handler_for<1, kEx2>(type) : handler_for<1, kTanh>(type);
  return emit_half(l, form, handler, type, 1, (ftz ? kFtz : 0u) | (ex2 ? kTruncate : 0u), Counters::kSpecialFunction);
}

// Sign operations, on bits; a NaN (magnitude above kInfinity) becomes the canonical one.
template <typename Word, uint32_t kInfinity, uint32_t kKeep, uint32_t kFlip, bool kFlush>
constexpr auto kSign = [](Word a) -> Word {
  const auto one = [](uint32_t h) {
    if (kFlush && (h & 0x7c00u) == 0) h &= 0x8000u;
    return (h & 0x7fffu) > kInfinity ? 0x7fffu : (h & kKeep) ^ kFlip;
  };
  const uint32_t w = a;
  const uint32_t r = one(w & 0xffffu) | (sizeof(Word) == 4 ? one(w >> 16) << 16 : 0u);
  return static_cast<Word>(r);
};
template <typename Word, uint32_t kInfinity>
const LaneOp* sign_op(bool abs, bool ftz) {
  if (abs) return ftz ? &lane_op<kSign<Word, kInfinity, 0x7fff, 0, true>> : &lane_op<kSign<Word, kInfinity, 0x7fff, 0, false>>;
  return ftz ? &lane_op<kSign<Word, kInfinity, 0xffff, 0x8000, true>> : &lane_op<kSign<Word, kInfinity, 0xffff, 0x8000, false>>;
}
Status lower_abs_neg(Lowering& l) {
  Form form(l.instruction());
  const bool abs = l.instruction().opcode == "abs";
  const bool ftz = form.take("ftz");
  const Type type = form.take_type();
  if ((ftz && !is_f16(type)) || !form.done()) return l.unsupported();
  const bool packed = ptx::size_bits(type) == 32;
  const LaneOp* op = is_f16(type) ? (packed ? sign_op<uint32_t, 0x7c00>(abs, ftz) : sign_op<uint16_t, 0x7c00>(abs, ftz))
                                  : (packed ? sign_op<uint32_t, 0x7f80>(abs, false) : sign_op<uint16_t, 0x7f80>(abs, false));
  return emit_op(l, *op, Counters::kHalf);
}

bool on_halves(const ptx::Instruction& instruction) {
  const Type type = first_type(instruction);
  return (is_f16(type) || type == Type::kBF16 || type == Type::kBF16x2) && last_type(instruction) == type;
}

constexpr OpEntry kOps[] = {
    {"add", on_halves, lower_arithmetic}, {"sub", on_halves, lower_arithmetic}, {"mul", on_halves, lower_arithmetic},
    {"fma", on_halves, lower_arithmetic}, {"min", on_halves, lower_min_max},    {"max", on_halves, lower_min_max},
    {"ex2", on_halves, lower_special},    {"tanh", on_halves, lower_special},   {"abs", on_halves, lower_abs_neg},
    {"neg", on_halves, lower_abs_neg},
};

}  // namespace

std::span<const OpEntry> half_ops() { return kOps; }

}  // namespace kw::emu
