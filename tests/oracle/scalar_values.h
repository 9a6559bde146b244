// Arithmetic on register bits, written as the PTX ISA states it, for the scalar interpreter.
#pragma once

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "ptx/module.h"

namespace kw::oracle {

using ptx::Type;
using Wide = __int128;

inline bool is_signed(Type t) { return t == Type::kS8 || t == Type::kS16 || t == Type::kS32 || t == Type::kS64; }
inline bool is_float(Type t) { return t == Type::kF16 || t == Type::kF32 || t == Type::kF64; }
inline unsigned bits(Type t) { return ptx::size_bits(t); }
inline uint64_t cut(uint64_t value, unsigned width) { return width >= 64 ? value : value & ((uint64_t{1} << width) - 1); }
inline int64_t sign_extended(uint64_t value, unsigned width) {
  if (width >= 64) return static_cast<int64_t>(value);
  const uint64_t sign = uint64_t{1} << (width - 1);
  return static_cast<int64_t>((cut(value, width) ^ sign) - sign);
}
// The integer a register holds under a type, with room for any product of two.
inline Wide integer(uint64_t value, Type t) {
  return is_signed(t) ? Wide{sign_extended(value, bits(t))} : Wide{static_cast<Wide>(cut(value, bits(t)))};
}

template <typename To, typename From>
To bit_copy(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// __float128 holds sums and products of the narrower formats exactly, so one rounding at the end is right.
using Real = __float128;

inline Real real_of_half(uint16_t h) {
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  Real value;
  if (exponent == 31) {
    value = mantissa != 0 ? Real(std::numeric_limits<double>::quiet_NaN()) : Real(std::numeric_limits<double>::infinity());
  } else if (exponent == 0) {
    value = Real(std::ldexp(static_cast<double>(mantissa), -24));
  } else {
    value = Real(std::ldexp(static_cast<double>(1024 + mantissa), exponent - 25));
  }
  return (h & 0x8000) != 0 ? -value : value;
}

inline bool is_nan(Real x) { return x != x; }
inline bool is_negative(Real x) {
  unsigned char bytes[sizeof x];
  std::memcpy(bytes, &x, sizeof x);
  return (bytes[15] & 0x80) != 0;
}

// Round to nearest even in a format of `mantissa` stored bits and exponents down to `least` (of the last
// place of denormals), by scaling to an integer and looking at what is left.
inline Real rounded(Real x, int mantissa, int least) {
  if (x == 0 || is_nan(x) || x - x != 0) return x;
  int exponent = 0;
  Real magnitude = x < 0 ? -x : x;
  for (Real m = magnitude; m >= 2; m /= 2) ++exponent;
  for (Real m = magnitude; m < 1; m *= 2) --exponent;
  int place = exponent - mantissa;
  if (place < least) place = least;
  Real scaled = magnitude;
  for (int i = 0; i < place; ++i) scaled /= 2;
  for (int i = 0; i > place; --i) scaled *= 2;
  const auto whole = static_cast<unsigned __int128>(scaled);
  const Real rest = scaled - static_cast<Real>(whole);
  unsigned __int128 kept = whole;
  if (rest > Real(0.5) || (rest == Real(0.5) && (whole & 1) != 0)) ++kept;
  Real out = static_cast<Real>(kept);
  for (int i = 0; i < place; ++i) out *= 2;
  for (int i = 0; i > place; --i) out /= 2;
  return x < 0 ? -out : out;
}

inline uint16_t half_of_real(Real x) {
  if (is_nan(x)) return 0x7fff;
  const uint16_t sign = is_negative(x) ? 0x8000 : 0;
  Real r = rounded(x, 10, -24);
  if (r < 0) r = -r;
  if (r > Real(65504)) return sign | 0x7c00;
  const double d = static_cast<double>(r);
  if (d == 0) return sign;
  int exponent = 0;
  std::frexp(d, &exponent);  // d = f · 2^exponent, 0.5 <= f < 1
  if (exponent < -13) return sign | static_cast<uint16_t>(std::ldexp(d, 24));
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + (static_cast<int>(std::ldexp(d, 11 - exponent)) - 1024));
}

inline double double_of(uint64_t value, Type t) {
  if (t == Type::kF16) return static_cast<double>(real_of_half(static_cast<uint16_t>(value)));
  if (t == Type::kF32) return bit_copy<float>(static_cast<uint32_t>(value));
  return bit_copy<double>(value);
}

struct RoundingScope {
  explicit RoundingScope(int mode) { std::fesetround(mode); }
  ~RoundingScope() { std::fesetround(FE_TONEAREST); }
};

}  // namespace kw::oracle
