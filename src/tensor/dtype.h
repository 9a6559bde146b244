// Element types of tensors, and exact conversions between them and float or double.
//
// Every conversion is a pure function of its bits: no global rounding mode, no platform differences.
// Rounding follows IEEE 754; what the narrow formats do beyond it follows the PTX ISA (section 9.7.9,
// `cvt`) and the OCP 8-bit and MX format specifications:
//   - a NaN becomes the format's canonical NaN (f16, bf16: 0x7fff; f32: 0x7fffffff, tf32: 0x7fffe000;
//     e4m3, e5m2: 0x7f; ue8m0: 0xff); formats without NaN (e3m2, e2m3, e2m1) give +maximum;
//   - saturate: a finite or infinite value beyond the largest finite one becomes that one, sign kept;
//   - not saturate: IEEE overflow by rounding mode; e4m3 has no infinity and gives NaN instead, formats
//     without NaN saturate always.
// tf32 values are held as f32 bits whose low 13 bits are zero. Formats narrower than a byte occupy the
// low bits of the value that is passed around. Thread-safe.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "base/result.h"

namespace kw::tensor {

enum class DType : uint8_t {
  kF64, kF32, kTF32, kBF16, kF16,
  kE4M3, kE5M2, kE3M2, kE2M3, kE2M1, kUE8M0, kUE4M3,
  kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64,
  kBool, kI4, kU4,
};
inline constexpr int kDTypes = static_cast<int>(DType::kU4) + 1;

unsigned bits_of(DType type);              // 64 … 4; tf32 32 (as held), bool 8
std::string_view name_of(DType type);      // "bf16"
Result<DType> dtype_named(std::string_view name);   // also "float16", "half", "float32", "int8", "b1" …
bool is_float(DType type);
bool is_integer(DType type);               // bool is neither
bool is_signed(DType type);

enum class Rounding : uint8_t {
  kNearestEven,    // .rn
  kNearestAway,    // .rna: ties away from zero
  kTowardZero,     // .rz
  kDown,           // .rm
  kUp,             // .rp
};

// The shape of a binary floating-point format of at most 32 bits.
struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  bool has_sign, has_infinity, has_nan;
  uint32_t nan;               // canonical
  uint32_t max_finite;        // bits of the largest finite value, sign clear
  int low_zeros;              // tf32: bits below the mantissa in the held value
};
// Null for f64 and for types that are not floating-point.
const FloatFormat* float_format(DType type);

// The value of `bits` (low bits of the word) as a double: exact for all types but i64 and u64, which round.
double decode(uint64_t bits, DType type);

// The bits of `value` in `type`. Integers round by `rounding`, then saturate; NaN gives 0.
uint64_t encode(double value, DType type, Rounding rounding = Rounding::kNearestEven, bool saturate = false);

// decode() of an 8-bit-or-narrower float by table: 256 entries, indexed by the whole byte
// (bits above the format's width are ignored). Null for other types.
const float* decode_table(DType type);

// --- Inline conversions of the common formats -----------------------------------------------------------

inline float bf16_to_f32(uint16_t h) { return std::bit_cast<float>(uint32_t{h} << 16); }

// Round to nearest even; a NaN gives 0x7fff.
inline uint16_t f32_to_bf16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
}

// Keeps a NaN's sign and payload.
inline float f16_to_f32(uint16_t h) {
#if defined(__F16C__)
  return _cvtsh_ss(h);
#else
  const uint32_t sign = uint32_t{h & 0x8000u} << 16;
  const uint32_t magnitude = uint32_t{h & 0x7fffu} << 13;
  if (magnitude >= 0x0f800000u) {   // infinity or NaN; hardware makes signalling NaNs quiet
    const uint32_t quiet = magnitude > 0x0f800000u ? 0x00400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x007fffffu) | quiet);
  }
  // 2^112 moves the exponent bias from 15 to 127 and normalises denormals, exactly.
  const float value = std::bit_cast<float>(magnitude) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
#endif
}

// Round to nearest even; a NaN gives 0x7fff.
inline uint16_t f32_to_f16(float x) {
#if defined(__F16C__)
  const auto h = static_cast<uint16_t>(_cvtss_sh(x, 0));
  return (h & 0x7fffu) > 0x7c00u ? uint16_t{0x7fff} : h;
#else
  return static_cast<uint16_t>(encode(static_cast<double>(x), DType::kF16));
#endif
}

// Arrays of any length; source and destination must not overlap.
void decode_array(const uint16_t* source, float* destination, size_t count, DType type);   // f16, bf16
void encode_array(const float* source, uint16_t* destination, size_t count, DType type);   // f16, bf16, rn

// 32 at once: what the emulator and the matrix instructions use.
inline void f16_to_f32_x32(const uint16_t* __restrict source, float* __restrict destination) {
#if defined(__F16C__) && defined(__AVX__)
  for (int i = 0; i < 32; i += 8) {
    const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i));
    _mm256_storeu_ps(destination + i, _mm256_cvtph_ps(h));
  }
#else
  for (int i = 0; i < 32; ++i) destination[i] = f16_to_f32(source[i]);
#endif
}
inline void bf16_to_f32_x32(const uint16_t* __restrict source, float* __restrict destination) {
  for (int i = 0; i < 32; ++i) destination[i] = bf16_to_f32(source[i]);
}
inline void f32_to_bf16_x32(const float* __restrict source, uint16_t* __restrict destination) {
  for (int i = 0; i < 32; ++i) destination[i] = f32_to_bf16(source[i]);
}
inline void f32_to_f16_x32(const float* __restrict source, uint16_t* __restrict destination) {
#if defined(__F16C__) && defined(__AVX__)
  for (int i = 0; i < 32; i += 8) {
    const __m256 x = _mm256_loadu_ps(source + i);
    const __m128i h = _mm256_cvtps_ph(x, 0);
    // 0x7fff where the half is a NaN: then its magnitude, as a signed 16-bit integer, exceeds infinity's.
    const __m128i magnitude = _mm_and_si128(h, _mm_set1_epi16(0x7fff));
    const __m128i is_nan = _mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x7c00));
    const __m128i fixed = _mm_or_si128(_mm_andnot_si128(is_nan, h), _mm_and_si128(is_nan, _mm_set1_epi16(0x7fff)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(destination + i), fixed);
  }
#else
  for (int i = 0; i < 32; ++i) destination[i] = f32_to_f16(source[i]);
#endif
}

}  // namespace kw::tensor
