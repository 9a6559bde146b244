// f32 and f64 arithmetic: PTX ISA section 9.7.3.
//
// The directed rounding modes run the same loops with the host's rounding mode changed around them, which
// makes every operation IEEE-exact in that mode.
#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

#include <limits>

#include "emu/approx.h"
#include "emu/form.h"

namespace kw::emu {
namespace {

using ptx::Type;

// --- Rounding -------------------------------------------------------------------------------------------

enum RoundingMode : uint32_t { kNearest, kZero, kDown, kUp };

class RoundingScope {
 public:
  explicit RoundingScope(uint32_t mode) {
#if defined(__SSE2__)
    static constexpr unsigned kBits[4] = {0x0000, 0x6000, 0x2000, 0x4000};
    old_ = _mm_getcsr();
    _mm_setcsr((old_ & ~0x6000u) | kBits[mode]);
#else
    static const int kModes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    old_ = static_cast<unsigned>(std::fegetround());
    std::fesetround(kModes[mode]);
#endif
    asm volatile("" ::: "memory");   // nothing that reads lanes moves above, nothing that writes them below
  }
  ~RoundingScope() {
    asm volatile("" ::: "memory");
#if defined(__SSE2__)
    _mm_setcsr(old_);
#else
    std::fesetround(static_cast<int>(old_));
#endif
  }
  RoundingScope(const RoundingScope&) = delete;

 private:
  unsigned old_ = 0;
};

// imm: the LaneOp; aux: the mode.
void rounded_full(Warp& warp, const Insn& insn) {
  const RoundingScope scope(insn.aux);
  reinterpret_cast<const LaneOp*>(static_cast<uintptr_t>(insn.imm))->full(warp, insn);
}
void rounded_masked(Warp& warp, const Insn& insn) {
  const RoundingScope scope(insn.aux);
  reinterpret_cast<const LaneOp*>(static_cast<uintptr_t>(insn.imm))->masked(warp, insn);
}

Status emit_rounded(Lowering& l, const LaneOp& op, Counters::Class instruction_class, int mode) {
  if (mode <= 0) return emit_op(l, op, instruction_class);
  LaneOp rounded = op;
  rounded.full = &rounded_full;
  rounded.masked = &rounded_masked;
  rounded.chained = nullptr;
  return emit_op(l, rounded, instruction_class, reinterpret_cast<uintptr_t>(&op), static_cast<uint32_t>(mode));
}

int take_rounding(Form& form) { return form.take_one_of({"rn", "rz", "rm", "rp"}); }

// --- Lane functions -------------------------------------------------------------------------------------

template <bool kFtz, bool kSat>
inline float finish32(float r) {
  r = flush_if<kFtz>(r);
  if constexpr (kSat) return saturate(r);
  else return canonical(r);
}

template <bool kFtz, bool kSat>
constexpr auto kAdd32 = [](float a, float b) -> float { return finish32<kFtz, kSat>(flush_if<kFtz>(a) + flush_if<kFtz>(b)); };
template <bool kFtz, bool kSat>
constexpr auto kSub32 = [](float a, float b) -> float { return finish32<kFtz, kSat>(flush_if<kFtz>(a) - flush_if<kFtz>(b)); };
template <bool kFtz, bool kSat>
constexpr auto kMul32 = [](float a, float b) -> float {
  a = flush_if<kFtz>(a);
  b = flush_if<kFtz>(b);
  float r = a * b;
  if constexpr (kFtz) r = flush_rounded(r, (a * 0x1p32f) * (b * 0x1p32f), 0x1p-62f);
  return finish32<false, kSat>(r);
};
template <bool kFtz, bool kSat>
constexpr auto kFma32 = [](float a, float b, float c) -> float {
  a = flush_if<kFtz>(a);
  b = flush_if<kFtz>(b);
  c = flush_if<kFtz>(c);
  float r = std::fma(a, b, c);
  if constexpr (kFtz) r = flush_rounded(r, std::fma(a * 0x1p32f, b * 0x1p32f, c * 0x1p64f), 0x1p-62f);
  return finish32<false, kSat>(r);
};
template <bool kFtz>
constexpr auto kDiv32 = [](float a, float b) -> float {
  a = flush_if<kFtz>(a);
  b = flush_if<kFtz>(b);
  float r = a / b;
  if constexpr (kFtz) r = flush_rounded(r, a * 0x1p64f / b, 0x1p-62f);
  return finish32<false, false>(r);
};
template <bool kFtz>
constexpr auto kDivApprox32 = [](float a, float b) -> float {
  return flush_if<kFtz>(approx_divide(flush_if<kFtz>(a), flush_if<kFtz>(b)));
};
template <bool kFtz>
constexpr auto kRcp32 = [](float a) -> float { return kDiv32<kFtz>(1.0f, a); };
template <bool kFtz>
constexpr auto kSqrt32 = [](float a) -> float { return finish32<kFtz, false>(std::sqrt(flush_if<kFtz>(a))); };
template <bool kFtz>
constexpr auto kRsqrt32 = [](float a) -> float { return flush_if<kFtz>(approx_rsqrt(flush_if<kFtz>(a))); };
template <bool kFtz>
constexpr auto kSin32 = [](float a) -> float { return flush_if<kFtz>(approx_sine(flush_if<kFtz>(a), 0)); };
template <bool kFtz>
constexpr auto kCos32 = [](float a) -> float { return flush_if<kFtz>(approx_sine(flush_if<kFtz>(a), 1)); };
template <bool kFtz>
constexpr auto kLg232 = [](float a) -> float { return flush_if<kFtz>(approx_log2(flush_if<kFtz>(a))); };
template <bool kFtz>
constexpr auto kEx232 = [](float a) -> float { return flush_if<kFtz>(approx_exp2(flush_if<kFtz>(a))); };
constexpr auto kTanh32 = [](float a) -> float { return approx_tanh(a); };
template <bool kFtz>
constexpr auto kAbs32 = [](float a) -> float { return canonical(flush_if<kFtz>(float_of(bits_of(a) & 0x7fffffffu))); };
template <bool kFtz>
constexpr auto kNeg32 = [](float a) -> float { return canonical(flush_if<kFtz>(float_of(bits_of(a) ^ 0x80000000u))); };
template <bool kMax, bool kNan, bool kFtz>
constexpr auto kMinMax32 = [](float a, float b) -> float { return min_max<kMax, kNan>(flush_if<kFtz>(a), flush_if<kFtz>(b)); };
template <bool kMax, bool kNan, bool kFtz>
constexpr auto kMinMaxXor32 = [](float a, float b) -> float {
  return min_max_xorsign<kMax, kNan>(flush_if<kFtz>(a), flush_if<kFtz>(b));
};
template <bool kMax, bool kNan, bool kFtz, bool kAbs>
constexpr auto kMinMax3 = [](float a, float b, float c) -> float {
  const uint32_t keep = kAbs ? 0x7fffffffu : 0xffffffffu;
  const auto in = [&](float x) { return flush_if<kFtz>(float_of(bits_of(x) & keep)); };
  return min_max<kMax, kNan>(min_max<kMax, kNan>(in(a), in(b)), in(c));
};

// Eight lanes of some of these, with the same bits.
#if defined(__AVX2__)
template <bool kMax, bool kNan, bool kFtz>
constexpr auto kMinMax8 = [](__m256 a, __m256 b) -> __m256 { return min_max_8<kMax, kNan, kFtz>(a, b); };
template <bool kFtz>
constexpr auto kEx28 = [](__m256 a) -> __m256 { return approx_exp2_8<kFtz>(a); };
constexpr auto kMulFtz8 = [](__m256 a, __m256 b) -> __m256 {
  a = flush_8(a);
  b = flush_8(b);
  const __m256 up = _mm256_set1_ps(0x1p32f);
  return flush_rounded_8(_mm256_mul_ps(a, b), _mm256_mul_ps(_mm256_mul_ps(a, up), _mm256_mul_ps(b, up)), 0x1p-62f);
};
constexpr auto kFmaFtz8 = [](__m256 a, __m256 b, __m256 c) -> __m256 {
  a = flush_8(a);
  b = flush_8(b);
  c = flush_8(c);
  const __m256 up = _mm256_set1_ps(0x1p32f), twice = _mm256_set1_ps(0x1p64f);
  const __m256 above = _mm256_fmadd_ps(_mm256_mul_ps(a, up), _mm256_mul_ps(b, up), _mm256_mul_ps(c, twice));
  return flush_rounded_8(_mm256_fmadd_ps(a, b, c), above, 0x1p-62f);
};
constexpr const LaneOp* kMulFtz = &vector_op<kMul32<true, false>, kMulFtz8>;
constexpr const LaneOp* kFmaFtz = &vector_op<kFma32<true, false>, kFmaFtz8>;
template <bool kMax, bool kNan, bool kFtz>
constexpr const LaneOp* min_max_lanes() { return &vector_op<kMinMax32<kMax, kNan, kFtz>, kMinMax8<kMax, kNan, kFtz>>; }
template <bool kFtz>
constexpr const LaneOp* ex2_lanes() { return &vector_op<kEx232<kFtz>, kEx28<kFtz>>; }
#else
constexpr const LaneOp* kMulFtz = &lane_op<kMul32<true, false>>;
constexpr const LaneOp* kFmaFtz = &lane_op<kFma32<true, false>>;
template <bool kMax, bool kNan, bool kFtz>
constexpr const LaneOp* min_max_lanes() { return &lane_op<kMinMax32<kMax, kNan, kFtz>>; }
template <bool kFtz>
constexpr const LaneOp* ex2_lanes() { return &lane_op<kEx232<kFtz>>; }
#endif

constexpr auto kAdd64 = [](double a, double b) -> double { return a + b; };
constexpr auto kSub64 = [](double a, double b) -> double { return a - b; };
constexpr auto kMul64 = [](double a, double b) -> double { return a * b; };
constexpr auto kFma64 = [](double a, double b, double c) -> double { return std::fma(a, b, c); };
constexpr auto kDiv64 = [](double a, double b) -> double { return a / b; };
constexpr auto kRcp64 = [](double a) -> double { return 1.0 / a; };
constexpr auto kSqrt64 = [](double a) -> double { return std::sqrt(a); };
constexpr auto kRcpApprox64 = [](double a) -> double { return approx_upper(a, false); };
constexpr auto kRsqrtApprox64 = [](double a) -> double { return approx_rsqrt_double(a); };
constexpr auto kRsqrtUpper64 = [](double a) -> double { return approx_upper(a, true); };
// A NaN keeps its sign.
constexpr auto kAbs64 = [](double a) -> double { return double_of(is_nan(a) ? bits_of(a) | 0x0008000000000000ull : bits_of(a) & 0x7fffffffffffffffull);
};
constexpr auto kNeg64 = [](double a) -> double { return double_of(is_nan(a) ? bits_of(a) | 0x0008000000000000ull : bits_of(a) ^ 0x8000000000000000ull); };
template <bool kMax>
constexpr auto kMinMax64 = [](double a, double b) -> double { return min_max<kMax, false>(a, b); };

// --- Lowering -------------------------------------------------------------------------------------------

#define KW_FTZ_SAT(F) \
  (ftz ? (sat ? &lane_op<F<true, true>> : &lane_op<F<true, false>>) : (sat ? &lane_op<F<false, true>> : &lane_op<F<false, false>>))
#define KW_FTZ(F) (ftz ? &lane_op<F<true>> : &lane_op<F<false>>)

Status finish(Lowering& l, const Form& form, const LaneOp* op, Counters::Class instruction_class, int mode = 0) {
  if (!op || !form.done()) return l.unsupported();
  return emit_rounded(l, *op, instruction_class, mode);
}

Status lower_arithmetic(Lowering& l) {
  Form form(l.instruction());
  const std::string_view opcode = l.instruction().opcode;
  const int mode = take_rounding(form);
  const bool ftz = form.take("ftz"), sat = form.take("sat");
  const Type type = form.take_type();
  const bool fused = opcode == "fma" || opcode == "mad";
  if (opcode == "fma" && mode < 0) return l.unsupported();
  if (type == Type::kF32) {
    const LaneOp* op = fused             ? (ftz && !sat ? kFmaFtz : KW_FTZ_SAT(kFma32))
                       : opcode == "add" ? KW_FTZ_SAT(kAdd32)
                       : opcode == "sub" ? KW_FTZ_SAT(kSub32)
                       : ftz && !sat     ? kMulFtz
                                         : KW_FTZ_SAT(kMul32);
    return finish(l, form, op, Counters::kFloat32, mode);
  }
  if (type != Type::kF64 || ftz || sat) return l.unsupported();
  const LaneOp* op = fused             ? &lane_op<kFma64>
                     : opcode == "add" ? &lane_op<kAdd64>
                     : opcode == "sub" ? &lane_op<kSub64>
                                       : &lane_op<kMul64>;
  return finish(l, form, op, Counters::kFloat64, mode);
}

Status lower_div(Lowering& l) {
  Form form(l.instruction());
  const int mode = take_rounding(form);
  const int approximate = mode < 0 ? form.take_one_of({"approx", "full"}) : -1;
  const bool ftz = form.take("ftz");
  const Type type = form.take_type();
  if (mode < 0 && approximate < 0) return l.unsupported();
  if (type == Type::kF32) {
    const LaneOp* op = approximate == 0 ? KW_FTZ(kDivApprox32) : KW_FTZ(kDiv32);
    return finish(l, form, op, Counters::kFloat32, mode);
  }
  if (type != Type::kF64 || ftz || mode < 0) return l.unsupported();
  return finish(l, form, &lane_op<kDiv64>, Counters::kFloat64, mode);
}

Status lower_rcp_sqrt(Lowering& l) {
  Form form(l.instruction());
  const bool rcp = l.instruction().opcode == "rcp";
  const int mode = take_rounding(form);
  const bool approximate = mode < 0 && form.take("approx");
  const bool ftz = form.take("ftz");
  const Type type = form.take_type();
  if (mode < 0 && !approximate) return l.unsupported();
  const auto instruction_class = approximate ? Counters::kSpecialFunction : type == Type::kF32 ? Counters::kFloat32 : Counters::kFloat64;
  if (type == Type::kF32) return finish(l, form, rcp ? KW_FTZ(kRcp32) : KW_FTZ(kSqrt32), instruction_class, mode);
  if (type != Type::kF64) return l.unsupported();
  if (approximate) return finish(l, form, rcp && ftz ? &lane_op<kRcpApprox64> : nullptr, instruction_class);
  return finish(l, form, ftz ? nullptr : rcp ? &lane_op<kRcp64> : &lane_op<kSqrt64>, instruction_class, mode);
}

Status lower_special(Lowering& l) {
  Form form(l.instruction());
  const std::string_view opcode = l.instruction().opcode;
  if (!form.take("approx")) return l.unsupported();
  const bool ftz = form.take("ftz");
  const Type type = form.take_type();
  const LaneOp* op = nullptr;
  if (type == Type::kF64) {
    if (opcode == "rsqrt") op = ftz ? &lane_op<kRsqrtUpper64> : &lane_op<kRsqrtApprox64>;
  } else if (type == Type::kF32) {
    if (opcode == "rsqrt") op = KW_FTZ(kRsqrt32);
    else if (opcode == "sin") op = KW_FTZ(kSin32);
    else if (opcode == "cos") op = KW_FTZ(kCos32);
    else if (opcode == "lg2") op = KW_FTZ(kLg232);
    else if (opcode == "ex2") op = ftz ? ex2_lanes<true>() : ex2_lanes<false>();
    else if (opcode == "tanh" && !ftz) op = &lane_op<kTanh32>;
  }
  return finish(l, form, op, Counters::kSpecialFunction);
}

Status lower_abs_neg(Lowering& l) {
  Form form(l.instruction());
  const bool abs = l.instruction().opcode == "abs";
  const bool ftz = form.take("ftz");
  const Type type = form.take_type();
  if (type == Type::kF32) return finish(l, form, abs ? KW_FTZ(kAbs32) : KW_FTZ(kNeg32), Counters::kFloat32);
  if (type != Type::kF64 || ftz) return l.unsupported();
  return finish(l, form, abs ? &lane_op<kAbs64> : &lane_op<kNeg64>, Counters::kFloat64);
}

template <bool kMax, bool kNan>
const LaneOp* min_max_op(bool ftz, bool xorsign) {
  if (xorsign) return ftz ? &lane_op<kMinMaxXor32<kMax, kNan, true>> : &lane_op<kMinMaxXor32<kMax, kNan, false>>;
  return ftz ? min_max_lanes<kMax, kNan, true>() : min_max_lanes<kMax, kNan, false>();
}
template <bool kMax, bool kNan>
const LaneOp* min_max_3_op(bool ftz, bool abs) {
  if (abs) return ftz ? &lane_op<kMinMax3<kMax, kNan, true, true>> : &lane_op<kMinMax3<kMax, kNan, false, true>>;
  return ftz ? &lane_op<kMinMax3<kMax, kNan, true, false>> : &lane_op<kMinMax3<kMax, kNan, false, false>>;
}

Status lower_min_max(Lowering& l) {
  Form form(l.instruction());
  const bool max = l.instruction().opcode == "max";
  const bool ftz = form.take("ftz"), nan = form.take("NaN"), xorsign = form.take("xorsign"), abs = form.take("abs");
  const Type type = form.take_type();
  const LaneOp* op = nullptr;
  if (type == Type::kF64) {
    if (ftz || nan || xorsign || abs) return l.unsupported();
    return finish(l, form, max ? &lane_op<kMinMax64<true>> : &lane_op<kMinMax64<false>>, Counters::kFloat64);
  }
  if (type != Type::kF32) return l.unsupported();
  if (l.operand_count() == 4) {
    if (xorsign) return l.unsupported();
    op = max ? (nan ? min_max_3_op<true, true>(ftz, abs) : min_max_3_op<true, false>(ftz, abs))
             : (nan ? min_max_3_op<false, true>(ftz, abs) : min_max_3_op<false, false>(ftz, abs));
  } else {
    if (xorsign != abs) return l.unsupported();
    op = max ? (nan ? min_max_op<true, true>(ftz, xorsign) : min_max_op<true, false>(ftz, xorsign))
             : (nan ? min_max_op<false, true>(ftz, xorsign) : min_max_op<false, false>(ftz, xorsign));
  }
  return finish(l, form, op, Counters::kFloat32);
}

enum class Test : uint8_t { kFinite, kInfinite, kNumber, kNotNumber, kNormal, kSubnormal };
template <Test kTest, typename T>
constexpr auto kTestp = [](T x) -> bool {
  const T magnitude = std::fabs(x);
  constexpr T infinity = std::numeric_limits<T>::infinity(), least = std::numeric_limits<T>::min();
  if constexpr (kTest == Test::kFinite) return magnitude < infinity;
  if constexpr (kTest == Test::kInfinite) return magnitude == infinity;
  if constexpr (kTest == Test::kNumber) return !is_nan(x);
  if constexpr (kTest == Test::kNotNumber) return is_nan(x);
  // Zeros count as normal (PTX ISA, testp).
  if constexpr (kTest == Test::kNormal) return ((magnitude >= least) & (magnitude < infinity)) | (magnitude == 0);
  if constexpr (kTest == Test::kSubnormal) return (magnitude < least) & (magnitude > 0);
};
template <typename T>
constexpr const LaneOp* kTests[] = {
    &lane_op<kTestp<Test::kFinite, T>>, &lane_op<kTestp<Test::kInfinite, T>>, &lane_op<kTestp<Test::kNumber, T>>,
    &lane_op<kTestp<Test::kNotNumber, T>>, &lane_op<kTestp<Test::kNormal, T>>, &lane_op<kTestp<Test::kSubnormal, T>>,
};

Status lower_testp(Lowering& l) {
  Form form(l.instruction());
  const int test = form.take_one_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  const Type type = form.take_type();
  if (test < 0 || !form.done()) return l.unsupported();
  if (type == Type::kF32) return emit_op(l, *kTests<float>[test], Counters::kPredicate);
  if (type == Type::kF64) return emit_op(l, *kTests<double>[test], Counters::kPredicate);
  return l.unsupported();
}

constexpr auto kCopysign32 = [](uint32_t a, uint32_t b) -> uint32_t { return (a & 0x80000000u) | (b & 0x7fffffffu); };
constexpr auto kCopysign64 = [](uint64_t a, uint64_t b) -> uint64_t {
  return (a & 0x8000000000000000ull) | (b & 0x7fffffffffffffffull);
};
Status lower_copysign(Lowering& l) {
  Form form(l.instruction());
  const Type type = form.take_type();
  if (!form.done()) return l.unsupported();
  if (type == Type::kF32) return emit_op(l, lane_op<kCopysign32>, Counters::kFloat32);
  if (type == Type::kF64) return emit_op(l, lane_op<kCopysign64>, Counters::kFloat64);
  return l.unsupported();
}

bool on_floats(const ptx::Instruction& instruction) {
  const Type type = first_type(instruction);
  return (type == Type::kF32 || type == Type::kF64) && last_type(instruction) == type;
}

constexpr OpEntry kOps[] = {
    {"add", on_floats, lower_arithmetic}, {"sub", on_floats, lower_arithmetic}, {"mul", on_floats, lower_arithmetic},
    {"fma", on_floats, lower_arithmetic}, {"mad", on_floats, lower_arithmetic}, {"div", on_floats, lower_div},
    {"rcp", on_floats, lower_rcp_sqrt},   {"sqrt", on_floats, lower_rcp_sqrt},  {"rsqrt", on_floats, lower_special},
    {"sin", on_floats, lower_special},    {"cos", on_floats, lower_special},    {"lg2", on_floats, lower_special},
    {"ex2", on_floats, lower_special},    {"tanh", on_floats, lower_special},   {"abs", on_floats, lower_abs_neg},
    {"neg", on_floats, lower_abs_neg},    {"min", on_floats, lower_min_max},    {"max", on_floats, lower_min_max},
    {"testp", nullptr, lower_testp},      {"copysign", nullptr, lower_copysign},
};

}  // namespace

std::span<const OpEntry> float_ops() { return kOps; }

}  // namespace kw::emu
