#include "emu/convert_lane.h"

#include <bit>
#include <cmath>
#include <optional>

#include "emu/float_lane.h"

namespace kw::emu {
namespace {

using tensor::DType;
using tensor::Rounding;

// magnitude × sign as a double rounded by `rounding`, or (to_odd) with the last bit standing for what was cut.
double integer_to_double(uint64_t magnitude, bool negative, Rounding rounding, bool to_odd) {
  const int width = 64 - std::countl_zero(magnitude);
  if (width <= 53) {
    const auto exact = static_cast<double>(magnitude);
    return negative ? -exact : exact;
  }
  const int shift = width - 53;
  uint64_t quotient = magnitude >> shift;
  const uint64_t rest = magnitude & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  if (to_odd) {
    quotient |= rest != 0;
  } else {
    switch (rounding) {
      case Rounding::kNearestEven: quotient += rest > half || (rest == half && (quotient & 1)); break;
      case Rounding::kNearestAway: quotient += rest >= half; break;
      case Rounding::kTowardZero: break;
      case Rounding::kDown: quotient += negative && rest != 0; break;
      case Rounding::kUp: quotient += !negative && rest != 0; break;
    }
  }
  const double value = std::ldexp(static_cast<double>(quotient), shift);
  return negative ? -value : value;
}

double round_integral(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven: return std::rint(x);
    case Rounding::kNearestAway: return std::round(x);
    case Rounding::kTowardZero: return std::trunc(x);
    case Rounding::kDown: return std::floor(x);
    case Rounding::kUp: return std::ceil(x);
  }
  return x;
}

uint64_t mask_of(unsigned bits) { return bits >= 64 ? ~0ull : (1ull << bits) - 1; }

uint64_t integer_to_integer(int64_t value, uint64_t pattern, bool from_signed, const Conversion& c) {
  const unsigned bits = tensor::bits_of(c.to);
  if (!c.sat) return pattern & mask_of(bits);
  if (tensor::is_signed(c.to)) {
    const auto most = static_cast<int64_t>(mask_of(bits) >> 1);
    const int64_t least = -most - 1;
    if (!from_signed) return pattern > static_cast<uint64_t>(most) ? static_cast<uint64_t>(most) : pattern;
    return static_cast<uint64_t>(value > most ? most : value < least ? least : value) & mask_of(bits);
  }
  if (from_signed && value < 0) return 0;
  return pattern > mask_of(bits) ? mask_of(bits) : pattern;
}

// To a float type from a double that is exact or rounded to odd.
uint64_t to_float(double x, const Conversion& c) {
  if (c.sat) x = x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0;
  if (c.relu && !std::isnan(x)) x = x > 0.0 ? x : 0.0;
  // What is denormal after rounding to 24 bits, whatever its size, is flushed: rounded further up, where there is room.
  if (c.ftz && c.to == DType::kF32 && std::fabs(x) < 0x1p-126 &&
      std::fabs(tensor::decode(tensor::encode(x * 0x1p64, DType::kF32, c.rounding), DType::kF32)) < 0x1p-62)
    x = std::copysign(0.0, x);
  return tensor::encode(x, c.to, c.rounding, c.satfinite);
}

// Some pairs of types keep a NaN's sign and payload or have a NaN of their own, as observed on hardware. `bits`: a NaN.
std::optional<uint64_t> nan_of(uint64_t bits, double x, const Conversion& c) {
  const auto narrow = [&](uint64_t infinity, unsigned mantissa) {   // f64's, cut and made quiet
    const uint64_t payload = (bits & 0x000fffffffffffffull) >> (52 - mantissa);
    return (bits >> 48 & 0x8000u) | infinity | payload | 1ull << (mantissa - 1);
  };
  if (c.from == DType::kF64 && c.to == DType::kF32) return bits_of(static_cast<float>(x));
  if (c.from == DType::kF64 && c.to == DType::kF16) return narrow(0x7c00, 10);
  if (c.from == DType::kF64 && c.to == DType::kBF16) return narrow(0x7f80, 7);
  if (c.integral && c.to == DType::kF64) return bits | 0x0008000000000000ull;
  if (c.from == DType::kF32 && c.to == DType::kF64 && c.ftz) return bits_of(static_cast<double>(float_of(kCanonicalNan32)));
  if (c.from == DType::kF16 && c.to == DType::kF64) return bits_of(static_cast<double>(tensor::f16_to_f32(static_cast<uint16_t>(bits))));
  if (c.from == DType::kBF16 && c.to == DType::kF64) return bits_of(static_cast<double>(tensor::bf16_to_f32(static_cast<uint16_t>(bits))));
  // .rna only cuts a NaN, and .satfinite takes one unit from whatever is above the largest finite value.
  if (c.rounding == Rounding::kNearestAway && c.satfinite) return (bits & 0xffffe000u) - 0x2000u;
  return std::nullopt;
}

}  // namespace

uint64_t convert_lane(uint64_t bits, const Conversion& c) {
  if (!tensor::is_float(c.from)) {
    const unsigned width = tensor::bits_of(c.from);
    const bool is_signed = tensor::is_signed(c.from);
    bits &= mask_of(width);
    const auto value = is_signed ? static_cast<int64_t>(bits << (64 - width)) >> (64 - width) : static_cast<int64_t>(bits);
    if (!tensor::is_float(c.to)) return integer_to_integer(value, static_cast<uint64_t>(value), is_signed, c);
    const bool negative = is_signed && value < 0;
    const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    return to_float(integer_to_double(magnitude, negative, c.rounding, c.to != DType::kF64), c);
  }
  // To f16 hardware flushes nothing: the upward and downward modes show it.
  if (c.ftz && c.from == DType::kF32 && c.to != DType::kF16 && (bits & 0x7f800000u) == 0) bits &= 0x80000000u;
  const double x = tensor::decode(bits, c.from);
  if (!tensor::is_float(c.to)) {
    if (std::isnan(x)) {
      const bool wide = c.from == DType::kF64 || tensor::bits_of(c.to) == 64;
      return wide ? 1ull << (tensor::bits_of(c.to) - 1) : 0;
    }
    return tensor::encode(x, c.to, c.rounding);
  }
  if (std::isnan(x) && !c.sat)
    if (const auto nan = nan_of(bits, x, c)) return *nan;
  if (!c.integral) return to_float(x, c);
  // A whole number of the same type, but for bf16 perhaps: every rounded value is representable or overflows alike.
  return to_float(std::isfinite(x) ? round_integral(x, c.rounding) : x, c);
}

}  // namespace kw::emu
