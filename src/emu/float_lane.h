// What PTX adds to IEEE arithmetic, for one lane: flushing of denormals, canonical NaN, saturation, the
// minimum and maximum of PTX. All on bits and branch-free, so that loops over lanes vectorise.
// Internal to emu.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "tensor/dtype.h"

namespace kw::emu {

inline uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t bits_of(double x) { return std::bit_cast<uint64_t>(x); }
inline float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }
inline double double_of(uint64_t bits) { return std::bit_cast<double>(bits); }

// .ftz: a denormal becomes zero of its sign.
inline float flush(float x) {
  const uint32_t u = bits_of(x);
  return float_of((u & 0x7f800000u) == 0 ? u & 0x80000000u : u);
}
// .ftz flushes what is denormal after rounding to 24 bits as if exponents had no end (as x86 does). The host has rounded a
// denormal `r` to fewer bits, perhaps up to the least normal number; `above` is the same result times a power of two
// that keeps it normal, `least` the least normal number times that power. What overflows above is no denormal here.
inline float flush_rounded(float r, float above, float least) {
  const bool tiny = (std::fabs(r) <= 0x1p-126f) & (std::fabs(above) < least);
  return float_of(tiny ? bits_of(r) & 0x80000000u : bits_of(r));
}
inline uint16_t flush_half(uint16_t h) { return static_cast<uint16_t>((h & 0x7c00u) == 0 ? h & 0x8000u : h); }
template <bool kFtz>
inline float flush_if(float x) {
  if constexpr (kFtz) return flush(x);
  else return x;
}
inline double flush_double(double x) {
  const uint64_t u = bits_of(x);
  return double_of((u & 0x7ff0000000000000ull) == 0 ? u & 0x8000000000000000ull : u);
}

inline bool is_nan(float x) { return x != x; }
inline bool is_nan(double x) { return x != x; }
inline bool is_negative(float x) { return static_cast<int32_t>(bits_of(x)) < 0; }
inline bool is_negative(double x) { return static_cast<int64_t>(bits_of(x)) < 0; }

// f32 results that are NaN are 0x7fffffff.
inline float canonical(float x) { return float_of(is_nan(x) ? 0x7fffffffu : bits_of(x)); }
inline double canonical(double x) { return x; }   // f64 keeps the payload
inline constexpr uint32_t kCanonicalNan32 = 0x7fffffffu;

// .sat: to [0, 1]; NaN gives +0.
inline float saturate(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// min and max: a NaN operand loses, unless kNanWins; -0 < +0.
template <bool kMax, bool kNanWins, typename T>
inline T min_max(T a, T b) {
  const bool first = kMax ? (a > b) | ((a == b) & !is_negative(a)) : (a < b) | ((a == b) & is_negative(a));
  T r = first ? a : b;
  if constexpr (kNanWins) {
    r = is_nan(a) ? a : is_nan(b) ? b : r;
  } else {
    r = is_nan(a) ? b : r;
    r = is_nan(b) ? a : r;
  }
  return canonical(r);
}
#if defined(__AVX2__)
// The same for eight lanes.
[[gnu::always_inline]] inline __m256 flush_8(__m256 x) {
  const __m256i exponent = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7f800000));
  const __m256 tiny = _mm256_castsi256_ps(_mm256_cmpeq_epi32(exponent, _mm256_setzero_si256()));
  return _mm256_blendv_ps(x, _mm256_and_ps(x, _mm256_set1_ps(-0.0f)), tiny);
}
// flush_rounded, and a NaN made canonical.
[[gnu::always_inline]] inline __m256 flush_rounded_8(__m256 r, __m256 above, float least) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  const __m256 small = _mm256_cmp_ps(_mm256_andnot_ps(sign, r), _mm256_set1_ps(0x1p-126f), _CMP_LE_OQ);
  const __m256 tiny = _mm256_and_ps(small, _mm256_cmp_ps(_mm256_andnot_ps(sign, above), _mm256_set1_ps(least), _CMP_LT_OQ));
  r = _mm256_blendv_ps(r, _mm256_and_ps(r, sign), tiny);
  return _mm256_blendv_ps(r, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)), _mm256_cmp_ps(r, r, _CMP_UNORD_Q));
}
template <bool kMax, bool kNanWins, bool kFtz>
[[gnu::always_inline]] inline __m256 min_max_8(__m256 a, __m256 b) {
  const __m256 canonical_nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  // The host's operation gives its second operand for zeros of any sign; both orders together settle the sign.
  const __m256 ab = kMax ? _mm256_max_ps(a, b) : _mm256_min_ps(a, b);
  const __m256 ba = kMax ? _mm256_max_ps(b, a) : _mm256_min_ps(b, a);
  __m256 r = kMax ? _mm256_and_ps(ab, ba) : _mm256_or_ps(ab, ba);
  // Flushing keeps the order, so flushing the result is as good as flushing the operands.
  if constexpr (kNanWins) {
    if constexpr (kFtz) r = flush_8(r);
    return _mm256_blendv_ps(r, canonical_nan, _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
  }
  const __m256 a_nan = _mm256_cmp_ps(a, a, _CMP_UNORD_Q), b_nan = _mm256_cmp_ps(b, b, _CMP_UNORD_Q);
  r = _mm256_blendv_ps(r, b, a_nan);
  r = _mm256_blendv_ps(r, a, b_nan);
  if constexpr (kFtz) r = flush_8(r);
  return _mm256_blendv_ps(r, canonical_nan, _mm256_and_ps(a_nan, b_nan));
}
#endif

template <bool kMax, bool kNanWins>
inline float min_max_xorsign(float a, float b) {
  const uint32_t sign = (bits_of(a) ^ bits_of(b)) & 0x80000000u;
  const float r = min_max<kMax, kNanWins>(float_of(bits_of(a) & 0x7fffffffu), float_of(bits_of(b) & 0x7fffffffu));
  return is_nan(r) ? r : float_of(bits_of(r) | sign);
}

// The two 16-bit formats as types, so that one template serves both.
struct Half {
  static float decode(uint16_t h) { return tensor::f16_to_f32(h); }
  static uint16_t encode(float x) { return tensor::f32_to_f16(x); }
  static void decode_lanes(const uint16_t* from, float* to) { tensor::f16_to_f32_x32(from, to); }
  static void encode_lanes(const float* from, uint16_t* to) { tensor::f32_to_f16_x32(from, to); }
  static constexpr tensor::DType kType = tensor::DType::kF16;
  static constexpr uint16_t kExponent = 0x7c00;
  static constexpr float kLeastNormal = 0x1p-14f, kHalfUnit = 0x1p-12f;   // half a unit in the last place of 1 from below
};
struct Brain {
  static float decode(uint16_t h) { return tensor::bf16_to_f32(h); }
  static uint16_t encode(float x) { return tensor::f32_to_bf16(x); }
  static void decode_lanes(const uint16_t* from, float* to) { tensor::bf16_to_f32_x32(from, to); }
  static void encode_lanes(const float* from, uint16_t* to) { tensor::f32_to_bf16_x32(from, to); }
  static constexpr tensor::DType kType = tensor::DType::kBF16;
  static constexpr uint16_t kExponent = 0x7f80;
  static constexpr float kLeastNormal = 0x1p-126f, kHalfUnit = 0x1p-9f;
};

}  // namespace kw::emu
