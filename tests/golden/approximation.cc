#include "approximation.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/dtype.h"

namespace kw::golden {
namespace {

using tensor::DType;
using Measure = Bound::Measure;

struct Format {
  DType type;
  unsigned bits, mantissa;
  int least, most;   // exponents of the smallest and the largest normal value
};
constexpr Format kHalf{DType::kF16, 16, 10, -14, 15}, kBrain{DType::kBF16, 16, 7, -126, 127},
    kSingle{DType::kF32, 32, 23, -126, 127}, kDouble{DType::kF64, 64, 52, -1022, 1023};

const Format& format_of(const UnaryForm& form) {
  if (form.from == "f16" || form.from == "f16x2") return kHalf;
  if (form.from == "bf16" || form.from == "bf16x2") return kBrain;
  return form.from == "f32" ? kSingle : kDouble;
}

using Real = long double;   // the functions are evaluated with bits to spare

Real exact(const UnaryForm& form, Real x) {
  if (form.opcode == "rcp") return 1 / x;
  if (form.opcode == "sqrt") return std::sqrt(x);
  if (form.opcode == "rsqrt") return 1 / std::sqrt(x);
  if (form.opcode == "lg2") return std::log2(x);
  if (form.opcode == "ex2") return std::exp2(x);
  if (form.opcode == "tanh") return std::tanh(x);
  return form.opcode == "sin" ? std::sin(x) : std::cos(x);
}

Real distance(const Format& f, const Bound& bound, Real x, Real result, Real wanted) {
  const Real beyond = std::ldexp(Real{1}, f.most + 1), least = std::ldexp(Real{1}, f.least);
  const auto clip = [&](Real v) { return std::fabs(v) > beyond ? std::copysign(beyond, v) : v; };   // infinity is the next value
  const Real r = clip(result), w = clip(wanted), difference = std::fabs(r - w), magnitude = std::max(std::fabs(w), least);
  switch (bound.measure) {
    case Measure::kAbsolute: return difference;
    case Measure::kRelative: return difference / magnitude;
    case Measure::kLogarithm: return x > 0.5L && x < 2 ? difference : difference / magnitude;
    case Measure::kUlp: break;
  }
  return difference / std::ldexp(Real{1}, std::min(std::ilogb(magnitude), f.most) - static_cast<int>(f.mantissa));
}

uint64_t element(const std::vector<uint8_t>& bytes, size_t size, size_t index) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + index * size, size);
  return value;
}

}  // namespace

std::optional<Bound> bound_of(const UnaryForm& form) {
  const bool half = form.from == "f16" || form.from == "f16x2", brain = form.from == "bf16" || form.from == "bf16x2";
  // ex2 of the 16-bit formats: the emulator gives every bit that hardware does.
  if (!form.has("approx") || (form.opcode == "ex2" && (half || brain))) return std::nullopt;
  if (form.from == "f64")   // "gross approximation"; rsqrt without .ftz: "emulated"
    return Bound{Measure::kRelative, form.has("ftz") ? 0x1p-20 : 0x1p-52, false};
  if (form.opcode == "rcp") return Bound{Measure::kUlp, 1};
  if (form.opcode == "sqrt") return Bound{Measure::kRelative, 0x1p-23};
  if (form.opcode == "rsqrt") return Bound{Measure::kRelative, std::exp2(-22.9)};
  if (form.opcode == "lg2") return Bound{Measure::kLogarithm, 0x1p-22};
  if (form.opcode == "ex2") return Bound{Measure::kUlp, 2};
  if (form.opcode == "tanh")
    return half ? Bound{Measure::kAbsolute, std::exp2(-10.987)} : brain ? Bound{Measure::kAbsolute, 0x1p-8} : Bound{Measure::kRelative, 0x1p-11};
  return Bound{Measure::kAbsolute, form.sweep == "f32<6.28318" ? std::exp2(-20.5) : std::exp2(-14.7)};
}

ApproximationError error_of(const UnaryForm& form, const Bound& bound, const std::vector<uint8_t>& input,
                            const std::vector<uint8_t>& output) {
  const Format& f = format_of(form);
  const size_t size = f.bits / 8;
  const bool ftz = form.has("ftz"), upper = ftz && f.bits == 64;   // of f64 only the upper word is read
  const bool not_negative = form.opcode == "lg2" || form.opcode == "sqrt" || form.opcode == "rsqrt";
  const Real least = std::ldexp(Real{1}, f.least);
  ApproximationError error;
  for (size_t i = 0; i < input.size() / size; ++i) {
    const uint64_t operand = element(input, size, i), code = element(output, size, i);
    const Real x = tensor::decode(upper ? operand & 0xffffffff00000000ull : operand, f.type), r = tensor::decode(code, f.type);
    const bool zero = x == 0 || (ftz && std::fabs(x) < least);
    if (!std::isfinite(x) || zero || (not_negative && x < 0)) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&code);
      error.exceptional.insert(error.exceptional.end(), bytes, bytes + size);
      ++error.exceptions;
      continue;
    }
    const Real w = exact(form, x);
    // A value next to the least normal one may be rounded either side of it, and is then flushed or not.
    if (ftz && r == 0 && std::fabs(w) < least * (1 + 0x1p-6L)) continue;
    const Real d = distance(f, bound, x, r, w);
    const double away = std::isnan(r) || std::isnan(d) ? std::numeric_limits<double>::infinity() : static_cast<double>(d);
    if (away <= error.worst) continue;
    error.worst = away;
    error.worst_operand = operand;
  }
  return error;
}

}  // namespace kw::golden
