// The approximate functions of PTX (`.approx`), for one lane. Internal to emu.
//
// Hardware's exact bits are not documented. These are more accurate than PTX asks (ex2: within 1 ulp, exact
// for integers; lg2, sin, cos, tanh, rsqrt: the double result rounded), the same on every machine (no libm), and
// written so that loops over lanes vectorise. Special values follow the tables of PTX ISA section 9.7.3.
#pragma once

#include <cmath>
#include <limits>

#include "emu/float_lane.h"

namespace kw::emu {

// 2^x. Range reduction to |f| <= 1/2 and the Taylor polynomial of degree 7 (remainder 5e-9).
inline float approx_exp2(float x) {
  const float clamped_high = x > 129.0f ? 129.0f : x;
  const float clamped = clamped_high < -152.0f ? -152.0f : clamped_high;
  constexpr float kMagic = 0x1.8p23f;   // adding it rounds to an integer, held in the low bits
  const float shifted = clamped + kMagic;
  const uint32_t n = bits_of(shifted) - 0x4b400000u;
  const float f = clamped - (shifted - kMagic);
  float p = 1.52527338e-5f;
  p = std::fma(p, f, 1.54035304e-4f);
  p = std::fma(p, f, 1.33335581e-3f);
  p = std::fma(p, f, 9.61812911e-3f);
  p = std::fma(p, f, 5.55041087e-2f);
  p = std::fma(p, f, 2.40226507e-1f);
  p = std::fma(p, f, 6.93147181e-1f);
  p = std::fma(p, f, 1.0f);
  // 2^n in two factors, so that results down to the last denormal round once.
  const auto half = static_cast<uint32_t>(static_cast<int32_t>(n) >> 1);
  const float first = float_of((half + 127u) << 23), second = float_of((n - half + 127u) << 23);
  const float result = p * first * second;
  return float_of(is_nan(x) ? kCanonicalNan32 : bits_of(result));
}

#if defined(__AVX2__) && defined(__FMA__)
// The same for eight lanes. A denormal operand needs no flushing: 2^x is 1.
template <bool kFtz>
[[gnu::always_inline]] inline __m256 approx_exp2_8(__m256 x) {
  const auto all = [](float value) { return _mm256_set1_ps(value); };
  const auto words = [](int value) { return _mm256_set1_epi32(value); };
  const __m256 clamped = _mm256_max_ps(_mm256_min_ps(x, all(129.0f)), all(-152.0f));
  const __m256 magic = all(0x1.8p23f);
  const __m256 shifted = _mm256_add_ps(clamped, magic);
  const __m256i n = _mm256_sub_epi32(_mm256_castps_si256(shifted), words(0x4b400000));
  const __m256 f = _mm256_sub_ps(clamped, _mm256_sub_ps(shifted, magic));
  __m256 p = all(1.52527338e-5f);
  for (const float c : {1.54035304e-4f, 1.33335581e-3f, 9.61812911e-3f, 5.55041087e-2f, 2.40226507e-1f, 6.93147181e-1f, 1.0f})
    p = _mm256_fmadd_ps(p, f, all(c));
  const __m256i half = _mm256_srai_epi32(n, 1);
  const auto power = [&](__m256i e) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(e, words(127)), 23)); };
  __m256 r = _mm256_mul_ps(_mm256_mul_ps(p, power(half)), power(_mm256_sub_epi32(n, half)));
  if constexpr (kFtz) r = _mm256_and_ps(r, _mm256_cmp_ps(r, all(0x1p-126f), _CMP_GE_OQ));
  return _mm256_blendv_ps(r, _mm256_castsi256_ps(words(0x7fffffff)), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
#endif

// log2 in double: exponent, and a series in (m - 1) / (m + 1) for m in [sqrt 1/2, sqrt 2).
inline float approx_log2(float x) {
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcdull, kOne = 0x3ff0000000000000ull;
  const uint64_t u = bits_of(static_cast<double>(x)) + (kOne - kRootHalf);
  const double exponent = double_of((u >> 52) | 0x4330000000000000ull) - (0x1p52 + 1023.0);
  const double m = double_of((u & 0x000fffffffffffffull) + kRootHalf);
  const double s = (m - 1.0) / (m + 1.0), t = s * s;
  double p = 1.0 / 15;
  p = p * t + 1.0 / 13;
  p = p * t + 1.0 / 11;
  p = p * t + 1.0 / 9;
  p = p * t + 1.0 / 7;
  p = p * t + 1.0 / 5;
  p = p * t + 1.0 / 3;
  p = p * t + 1.0;
  const auto r = static_cast<float>(exponent + 2.8853900817779268 * s * p);
  const float at_zero = x == 0.0f ? -std::numeric_limits<float>::infinity() : r;
  const float at_infinity = bits_of(x) == 0x7f800000u ? x : at_zero;
  return float_of((x < 0.0f) | is_nan(x) ? kCanonicalNan32 : bits_of(at_infinity));
}

// sin (quadrant 0) or cos (quadrant 1).
inline float approx_sine(float x, uint32_t quadrant) {
  if (!(std::fabs(x) < std::numeric_limits<float>::infinity())) return float_of(kCanonicalNan32);
  if (x == 0.0f) return quadrant == 0 ? x : 1.0f;
  double y = static_cast<double>(x);
  if (std::fabs(y) >= 0x1p26) y = std::fmod(y, 6.283185307179586);
  constexpr double kMagic = 0x1.8p52;
  const double shifted = y * 0.63661977236758138 + kMagic;
  const double k = shifted - kMagic;
  const auto turn = static_cast<uint32_t>(bits_of(shifted)) + quadrant;
  const double r = (y - k * 1.5707963267341256) - k * 6.0771005065061922e-11;   // pi/2 in two parts
  const double t = r * r;
  const double sine = r * (1.0 + t * (-1.0 / 6 + t * (1.0 / 120 + t * (-1.0 / 5040 + t * (1.0 / 362880 - t / 39916800)))));
  const double cosine =
      1.0 + t * (-0.5 + t * (1.0 / 24 + t * (-1.0 / 720 + t * (1.0 / 40320 + t * (-1.0 / 3628800 + t / 479001600)))));
  const double value = turn & 1u ? cosine : sine;
  return static_cast<float>(turn & 2u ? -value : value);
}

// 2^x in double for |x| < 1000: Taylor polynomial of degree 11.
inline double exp2_double(double x) {
  constexpr double kMagic = 0x1.8p52;
  const double shifted = x + kMagic;
  const double f = (x - (shifted - kMagic)) * 0.69314718055994531;
  double p = 1.0 / 39916800;
  p = p * f + 1.0 / 3628800;
  p = p * f + 1.0 / 362880;
  p = p * f + 1.0 / 40320;
  p = p * f + 1.0 / 5040;
  p = p * f + 1.0 / 720;
  p = p * f + 1.0 / 120;
  p = p * f + 1.0 / 24;
  p = p * f + 1.0 / 6;
  p = p * f + 0.5;
  p = p * f + 1.0;
  p = p * f + 1.0;
  const uint64_t n = bits_of(shifted) - bits_of(kMagic);
  return p * double_of((n + 1023) << 52);
}

inline float approx_tanh(float x) {
  const double y = static_cast<double>(x), t = y * y;
  const double small = y * (1.0 + t * (-1.0 / 3 + t * (2.0 / 15 + t * (-17.0 / 315 + t * (62.0 / 2835 - t * 1382.0 / 155925)))));
  const double magnitude = std::fabs(y) > 20.0 ? 20.0 : std::fabs(y);
  const double large = 1.0 - 2.0 / (exp2_double(magnitude * 2.8853900817779268) + 1.0);
  const double r = magnitude < 0.25 ? small : std::copysign(large, y);
  return float_of(is_nan(x) ? kCanonicalNan32 : bits_of(static_cast<float>(r)));
}

inline float approx_rsqrt(float x) {
  const float r = static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
  return canonical(x == 0.0f ? std::copysign(std::numeric_limits<float>::infinity(), x) : r);
}

// Correctly rounded but for a few values: one step of Newton with the exact residual 1 - x·y².
inline double approx_rsqrt_double(double x) {
  const double y = 1.0 / std::sqrt(x), product = x * y;
  const double residual = std::fma(-product, y, 1.0) - std::fma(x, y, -product) * y;
  const double better = std::fma(0.5 * y, residual, y);
  return std::fabs(better) < std::numeric_limits<double>::infinity() ? better : y;   // y where x is no positive number
}

// div.approx: a * (1/b); for |b| > 2^126 hardware's reciprocal is zero.
inline float approx_divide(float a, float b) {
  const bool huge = (std::fabs(b) > 0x1p126f) & (std::fabs(b) < std::numeric_limits<float>::infinity());
  const float zero = std::copysign(0.0f, b);
  return canonical(huge ? a * zero : a / b);
}

// rcp and rsqrt of f64: only the upper word of the operand is read and only the upper word of the result given.
inline double approx_upper(double x, bool root) {
  const double a = double_of(bits_of(flush_double(x)) & 0xffffffff00000000ull);
  const double r = root ? 1.0 / std::sqrt(a) : 1.0 / a;
  if (r != r) return double_of(0x7fffffff00000000ull);
  const uint64_t rounded = bits_of(r) + 0x80000000ull;   // to nearest in the upper word
  return flush_double(double_of((std::isinf(r) ? bits_of(r) : rounded) & 0xffffffff00000000ull));
}

}  // namespace kw::emu
