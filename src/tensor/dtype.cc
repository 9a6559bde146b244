#include "tensor/dtype.h"

#include <array>
#include <limits>
#include <optional>

#include "base/check.h"

namespace kw::tensor {
namespace {

struct TypeInfo {
  DType type;
  std::string_view name;
  unsigned bits;
  enum class Kind : uint8_t { kFloat, kSigned, kUnsigned, kBool } kind;
};
using K = TypeInfo::Kind;

// In the order of the enumeration.
constexpr std::array<TypeInfo, kDTypes> kTypes{{
    {DType::kF64, "f64", 64, K::kFloat},     {DType::kF32, "f32", 32, K::kFloat},
    {DType::kTF32, "tf32", 32, K::kFloat},   {DType::kBF16, "bf16", 16, K::kFloat},
    {DType::kF16, "f16", 16, K::kFloat},     {DType::kE4M3, "e4m3", 8, K::kFloat},
    {DType::kE5M2, "e5m2", 8, K::kFloat},    {DType::kE3M2, "e3m2", 6, K::kFloat},
    {DType::kE2M3, "e2m3", 6, K::kFloat},    {DType::kE2M1, "e2m1", 4, K::kFloat},
    {DType::kUE8M0, "ue8m0", 8, K::kFloat},  {DType::kUE4M3, "ue4m3", 8, K::kFloat},
    {DType::kI8, "i8", 8, K::kSigned},       {DType::kU8, "u8", 8, K::kUnsigned},
    {DType::kI16, "i16", 16, K::kSigned},    {DType::kU16, "u16", 16, K::kUnsigned},
    {DType::kI32, "i32", 32, K::kSigned},    {DType::kU32, "u32", 32, K::kUnsigned},
    {DType::kI64, "i64", 64, K::kSigned},    {DType::kU64, "u64", 64, K::kUnsigned},
    {DType::kBool, "bool", 8, K::kBool},     {DType::kI4, "i4", 4, K::kSigned},
    {DType::kU4, "u4", 4, K::kUnsigned},
}};
constexpr bool types_are_in_order() {
  for (int i = 0; i < kDTypes; ++i)
    if (static_cast<int>(kTypes[i].type) != i) return false;
  return true;
}
static_assert(types_are_in_order());

const TypeInfo& info(DType type) { return kTypes[static_cast<size_t>(type)]; }

struct Alias { std::string_view name; DType type; };
constexpr Alias kAliases[] = {
    {"double", DType::kF64},      {"float64", DType::kF64},       {"float", DType::kF32},
    {"float32", DType::kF32},     {"half", DType::kF16},          {"float16", DType::kF16},
    {"bfloat16", DType::kBF16},   {"float8_e4m3fn", DType::kE4M3}, {"float8_e5m2", DType::kE5M2},
    {"fp8_e4m3", DType::kE4M3},   {"fp8_e5m2", DType::kE5M2},     {"float4_e2m1fn", DType::kE2M1},
    {"float8_e8m0fnu", DType::kUE8M0}, {"e8m0", DType::kUE8M0},   {"int8", DType::kI8},
    {"uint8", DType::kU8},        {"int16", DType::kI16},         {"uint16", DType::kU16},
    {"int32", DType::kI32},       {"uint32", DType::kU32},        {"int64", DType::kI64},
    {"uint64", DType::kU64},      {"b1", DType::kBool},           {"int4", DType::kI4},
    {"uint4", DType::kU4},        {"s8", DType::kI8},             {"s16", DType::kI16},
    {"s32", DType::kI32},         {"s64", DType::kI64},           {"s4", DType::kI4},
};

//                                exp man bias  sign  inf    nan    nan bits     max finite   low zeros
constexpr FloatFormat kFormatF32{8, 23, 127, true, true, true, 0x7fffffffu, 0x7f7fffffu, 0};
constexpr FloatFormat kFormatTF32{8, 10, 127, true, true, true, 0x7fffe000u, 0x7f7fe000u, 13};
constexpr FloatFormat kFormatBF16{8, 7, 127, true, true, true, 0x7fffu, 0x7f7fu, 0};
constexpr FloatFormat kFormatF16{5, 10, 15, true, true, true, 0x7fffu, 0x7bffu, 0};
constexpr FloatFormat kFormatE4M3{4, 3, 7, true, false, true, 0x7fu, 0x7eu, 0};
constexpr FloatFormat kFormatE5M2{5, 2, 15, true, true, true, 0x7fu, 0x7bu, 0};
constexpr FloatFormat kFormatE3M2{3, 2, 3, true, false, false, 0x1fu, 0x1fu, 0};
constexpr FloatFormat kFormatE2M3{2, 3, 1, true, false, false, 0x1fu, 0x1fu, 0};
constexpr FloatFormat kFormatE2M1{2, 1, 1, true, false, false, 0x7u, 0x7u, 0};
constexpr FloatFormat kFormatUE8M0{8, 0, 127, false, false, true, 0xffu, 0xfeu, 0};
constexpr FloatFormat kFormatUE4M3{4, 3, 7, false, false, true, 0x7fu, 0x7eu, 0};

// A finite non-zero double as significand × 2^(exponent - 52), 2^52 <= significand < 2^53.
struct Parts { bool negative; int exponent; uint64_t significand; };
Parts split(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  Parts p;
  p.negative = (bits >> 63) != 0;
  p.exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
  p.significand = bits & ((1ull << 52) - 1);
  if (p.exponent == -1023) {
    const int shift = std::countl_zero(p.significand) - 11;
    p.significand <<= shift;
    p.exponent = -1022 - shift;
  } else {
    p.significand |= 1ull << 52;
  }
  return p;
}

// significand / 2^shift rounded to an integer.
uint64_t round_shift(uint64_t significand, int shift, bool negative, Rounding rounding) {
  if (shift <= 0) return significand << -shift;
  if (shift > 60) {   // below a quarter of one unit: only the directed modes see it
    significand = significand != 0;
    shift = 60;
  }
  const uint64_t quotient = significand >> shift;
  const uint64_t rest = significand & ((1ull << shift) - 1);
  const uint64_t half = 1ull << (shift - 1);
  bool up = false;
  switch (rounding) {
    case Rounding::kNearestEven: up = rest > half || (rest == half && (quotient & 1)); break;
    case Rounding::kNearestAway: up = rest >= half; break;
    case Rounding::kTowardZero: up = false; break;
    case Rounding::kDown: up = negative && rest != 0; break;
    case Rounding::kUp: up = !negative && rest != 0; break;
  }
  return quotient + (up ? 1 : 0);
}

// A power of two only, no zero, no sign: the exponent of |value|, raised when kUp finds a fraction.
uint32_t encode_ue8m0(double value, Rounding rounding) {
  if (std::isnan(value)) return 0xffu;
  value = std::fabs(value);
  if (value == 0) return 0;
  if (std::isinf(value)) return 0xfeu;
  const Parts p = split(value);
  int exponent = p.exponent;
  const uint64_t fraction = p.significand ^ (1ull << 52);
  if (rounding == Rounding::kUp) exponent += fraction != 0;
  else if (rounding == Rounding::kNearestEven || rounding == Rounding::kNearestAway)
    exponent += fraction >= (1ull << 51);
  if (exponent < -127) return 0;
  return exponent > 127 ? 0xfeu : static_cast<uint32_t>(exponent + 127);
}

// To nearest even where the value and its rounding are normal: the bits of a double, rounded off and with another bias.
std::optional<uint32_t> encode_normal(double value, const FloatFormat& f) {
  const uint64_t word = std::bit_cast<uint64_t>(value), magnitude = word & ~(uint64_t{1} << 63);
  const int shift = 52 - f.mantissa_bits;
  if (!f.has_sign || magnitude >> 52 <= static_cast<uint64_t>(1023 - f.bias)) return std::nullopt;
  const uint64_t rounded = (magnitude + ((uint64_t{1} << (shift - 1)) - 1) + ((magnitude >> shift) & 1)) >> shift;
  const uint64_t held = (rounded - (static_cast<uint64_t>(1023 - f.bias) << f.mantissa_bits)) << f.low_zeros;
  if (held > f.max_finite) return std::nullopt;  // infinities and NaN too
  return static_cast<uint32_t>(held | word >> 63 << (f.exponent_bits + f.mantissa_bits + f.low_zeros));
}

uint32_t encode_float(double value, const FloatFormat& f, Rounding rounding, bool saturate) {
  if (rounding == Rounding::kNearestEven)
    if (const auto bits = encode_normal(value, f)) return *bits;
  if (std::isnan(value)) return f.nan;
  const bool negative = std::signbit(value);
  if (negative && !f.has_sign) return 0;
  const int width = f.exponent_bits + f.mantissa_bits + f.low_zeros;
  const uint32_t sign = negative ? 1u << width : 0u;
  const auto overflow = [&](bool exact_infinity) -> uint32_t {
    if (saturate || (!f.has_infinity && !f.has_nan)) return sign | f.max_finite;
    const bool to_finite = !exact_infinity && (rounding == Rounding::kTowardZero ||
                                               (rounding == Rounding::kDown && !negative) ||
                                               (rounding == Rounding::kUp && negative));
    if (to_finite) return sign | f.max_finite;
    if (!f.has_infinity) return sign | f.nan;
    return sign | (((1u << f.exponent_bits) - 1u) << (f.mantissa_bits + f.low_zeros));
  };
  if (std::isinf(value)) return overflow(true);
  if (value == 0) return sign;
  const Parts p = split(value);
  const int least = 1 - f.bias;
  int shift = 52 - f.mantissa_bits;
  if (p.exponent < least) shift += least - p.exponent;
  const uint64_t rounded = round_shift(p.significand, shift, negative, rounding);
  // `rounded` holds the leading one for normal values; adding it to the exponent field less one lets a
  // carry out of the mantissa raise the exponent by itself.
  const int field = p.exponent < least ? 0 : p.exponent + f.bias - 1;
  const uint64_t magnitude = ((static_cast<uint64_t>(field) << f.mantissa_bits) + rounded) << f.low_zeros;
  if (magnitude > f.max_finite) return overflow(false);
  return sign | static_cast<uint32_t>(magnitude);
}

double decode_float(uint32_t bits, const FloatFormat& f) {
  bits >>= f.low_zeros;
  const uint32_t mantissa = bits & ((1u << f.mantissa_bits) - 1u);
  const uint32_t exponent = (bits >> f.mantissa_bits) & ((1u << f.exponent_bits) - 1u);
  const bool negative = f.has_sign && ((bits >> (f.mantissa_bits + f.exponent_bits)) & 1u);
  const uint32_t top = (1u << f.exponent_bits) - 1u;
  double value;
  if (f.has_infinity && exponent == top) {
    value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (!f.has_infinity && f.has_nan && exponent == top && mantissa == (1u << f.mantissa_bits) - 1u) {
    value = std::numeric_limits<double>::quiet_NaN();   // e4m3: the all-ones code alone
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | (1u << f.mantissa_bits)),
                       static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

double round_to_integer(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven: return std::nearbyint(value);
    case Rounding::kNearestAway: return std::round(value);
    case Rounding::kTowardZero: return std::trunc(value);
    case Rounding::kDown: return std::floor(value);
    case Rounding::kUp: return std::ceil(value);
  }
  return value;
}

uint64_t encode_integer(double value, unsigned bits, bool is_signed_type, Rounding rounding) {
  if (std::isnan(value)) return 0;
  value = round_to_integer(value, rounding);
  const uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  const double above = std::ldexp(1.0, static_cast<int>(is_signed_type ? bits - 1 : bits));
  if (is_signed_type) {
    if (value >= above) return mask >> 1;
    if (value < -above) return (mask >> 1) + 1;
    return static_cast<uint64_t>(static_cast<int64_t>(value)) & mask;
  }
  if (value >= above) return mask;
  return value <= 0 ? 0 : static_cast<uint64_t>(value);
}

using Table = std::array<float, 256>;
Table make_table(DType type) {
  Table table;
  for (uint32_t i = 0; i < 256; ++i)
    table[i] = static_cast<float>(decode(i & ((1u << bits_of(type)) - 1u), type));
  return table;
}

}  // namespace

unsigned bits_of(DType type) { return info(type).bits; }
std::string_view name_of(DType type) { return info(type).name; }
bool is_float(DType type) { return info(type).kind == K::kFloat; }
bool is_integer(DType type) { return info(type).kind == K::kSigned || info(type).kind == K::kUnsigned; }
bool is_signed(DType type) {
  if (is_float(type)) return type != DType::kUE8M0 && type != DType::kUE4M3;
  return info(type).kind == K::kSigned;
}

Result<DType> dtype_named(std::string_view name) {
  for (const TypeInfo& t : kTypes)
    if (t.name == name) return t.type;
  for (const Alias& a : kAliases)
    if (a.name == name) return a.type;
  std::string known;
  for (const TypeInfo& t : kTypes) known += (known.empty() ? "" : ", ") + std::string(t.name);
  return fail(ErrorCode::kNotFound, "unknown element type '{}'; known: {}", name, known);
}

const FloatFormat* float_format(DType type) {
  switch (type) {
    case DType::kF32: return &kFormatF32;
    case DType::kTF32: return &kFormatTF32;
    case DType::kBF16: return &kFormatBF16;
    case DType::kF16: return &kFormatF16;
    case DType::kE4M3: return &kFormatE4M3;
    case DType::kE5M2: return &kFormatE5M2;
    case DType::kE3M2: return &kFormatE3M2;
    case DType::kE2M3: return &kFormatE2M3;
    case DType::kE2M1: return &kFormatE2M1;
    case DType::kUE8M0: return &kFormatUE8M0;
    case DType::kUE4M3: return &kFormatUE4M3;
    case DType::kF64: case DType::kI8: case DType::kU8: case DType::kI16: case DType::kU16:
    case DType::kI32: case DType::kU32: case DType::kI64: case DType::kU64: case DType::kBool:
    case DType::kI4: case DType::kU4: return nullptr;
  }
  return nullptr;
}

double decode(uint64_t bits, DType type) {
  if (type == DType::kF64) return std::bit_cast<double>(bits);
  if (type == DType::kF32) return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  if (type == DType::kUE8M0)
    return (bits & 0xff) == 0xff ? std::numeric_limits<double>::quiet_NaN()
                                 : std::ldexp(1.0, static_cast<int>(bits & 0xff) - 127);
  if (const FloatFormat* format = float_format(type)) return decode_float(static_cast<uint32_t>(bits), *format);
  if (type == DType::kBool) return (bits & 0xff) != 0 ? 1.0 : 0.0;
  const unsigned width = bits_of(type);
  if (!is_signed(type)) return static_cast<double>(width == 64 ? bits : bits & ((1ull << width) - 1));
  const unsigned unused = 64 - width;
  return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
}

uint64_t encode(double value, DType type, Rounding rounding, bool saturate) {
  if (type == DType::kF64) return std::bit_cast<uint64_t>(value);
  if (type == DType::kUE8M0) return encode_ue8m0(value, rounding);
  if (const FloatFormat* format = float_format(type)) return encode_float(value, *format, rounding, saturate);
  if (type == DType::kBool) return value != 0 ? 1 : 0;
  return encode_integer(value, bits_of(type), is_signed(type), rounding);
}

const float* decode_table(DType type) {
  static const Table e4m3 = make_table(DType::kE4M3), e5m2 = make_table(DType::kE5M2),
                     e3m2 = make_table(DType::kE3M2), e2m3 = make_table(DType::kE2M3),
                     e2m1 = make_table(DType::kE2M1), ue8m0 = make_table(DType::kUE8M0),
                     ue4m3 = make_table(DType::kUE4M3);
  if (type == DType::kE4M3) return e4m3.data();
  if (type == DType::kE5M2) return e5m2.data();
  if (type == DType::kE3M2) return e3m2.data();
  if (type == DType::kE2M3) return e2m3.data();
  if (type == DType::kE2M1) return e2m1.data();
  if (type == DType::kUE8M0) return ue8m0.data();
  if (type == DType::kUE4M3) return ue4m3.data();
  return nullptr;
}

void decode_array(const uint16_t* source, float* destination, size_t count, DType type) {
  KW_CHECK(type == DType::kF16 || type == DType::kBF16);
  size_t i = 0;
  if (type == DType::kF16) {
    for (; i + 32 <= count; i += 32) f16_to_f32_x32(source + i, destination + i);
    for (; i < count; ++i) destination[i] = f16_to_f32(source[i]);
  } else {
    for (; i < count; ++i) destination[i] = bf16_to_f32(source[i]);
  }
}

void encode_array(const float* source, uint16_t* destination, size_t count, DType type) {
  KW_CHECK(type == DType::kF16 || type == DType::kBF16);
  size_t i = 0;
  if (type == DType::kF16) {
    for (; i + 32 <= count; i += 32) f32_to_f16_x32(source + i, destination + i);
    for (; i < count; ++i) destination[i] = f32_to_f16(source[i]);
  } else {
    for (; i < count; ++i) destination[i] = f32_to_bf16(source[i]);
  }
}

}  // namespace kw::tensor
