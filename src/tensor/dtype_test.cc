// Conversions against a slow reference that searches the sorted list of a format's values: it shares no
// code and no idea (exponents, shifts) with encode().
#include "tensor/dtype.h"

#include <array>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace kw::tensor {
namespace {

struct Value { double value; uint32_t bits; };

// Independent decoding by the formula of the format, in long double; sign clear, every exponent finite, so
// that the code after the last one has the value that decides overflow.
long double value_by_formula(uint32_t bits, int mantissa_bits, int bias) {
  const uint32_t mantissa = bits % (1u << mantissa_bits);
  const int exponent = static_cast<int>(bits >> mantissa_bits);
  long double scale = 1;
  const int power = (exponent == 0 ? 1 : exponent) - bias - mantissa_bits;
  for (int i = 0; i < std::abs(power); ++i) scale = power < 0 ? scale / 2 : scale * 2;
  return scale * static_cast<long double>(mantissa + (exponent == 0 ? 0u : 1u << mantissa_bits));
}

struct Format { DType type; int exponent_bits, mantissa_bits, bias; uint32_t last_finite; bool infinity, nan; };
const Format kFormats[] = {
    {DType::kF16, 5, 10, 15, 0x7bff, true, true},   {DType::kBF16, 8, 7, 127, 0x7f7f, true, true},
    {DType::kE4M3, 4, 3, 7, 0x7e, false, true},     {DType::kE5M2, 5, 2, 15, 0x7b, true, true},
    {DType::kE3M2, 3, 2, 3, 0x1f, false, false},    {DType::kE2M3, 2, 3, 1, 0x1f, false, false},
    {DType::kE2M1, 2, 1, 1, 0x7, false, false},
};
const Rounding kModes[] = {Rounding::kNearestEven, Rounding::kNearestAway, Rounding::kTowardZero, Rounding::kDown,
                           Rounding::kUp};

// The magnitude between neighbours low <= x < high (bits n and n + 1).
uint32_t pick(long double low, long double high, long double x, uint32_t n, Rounding rounding, bool negative) {
  if (x == low) return n;
  const long double middle = (low + high) / 2;
  switch (rounding) {
    case Rounding::kNearestEven: return x < middle ? n : x > middle ? n + 1 : n + (n & 1);
    case Rounding::kNearestAway: return x < middle ? n : n + 1;
    case Rounding::kTowardZero: return n;
    case Rounding::kDown: return negative ? n + 1 : n;
    case Rounding::kUp: return negative ? n : n + 1;
  }
  return n;
}

void check(const Format& f, double x, uint32_t n, long double low, long double high) {
  const uint32_t sign = 1u << (f.exponent_bits + f.mantissa_bits);
  for (Rounding rounding : kModes)
    for (bool negative : {false, true})
      for (bool saturate : {false, true}) {
        uint32_t expected = pick(low, high, x, n, rounding, negative);
        if (expected > f.last_finite && (saturate || (!f.infinity && !f.nan))) expected = f.last_finite;
        else if (expected > f.last_finite && !f.infinity) expected = 0x7f;
        expected |= negative ? sign : 0;
        ASSERT_EQ(encode(negative ? -x : x, f.type, rounding, saturate), expected)
            << name_of(f.type) << " " << std::hexfloat << x << " mode " << static_cast<int>(rounding)
            << " negative " << negative << " saturate " << saturate;
      }
}

TEST(DType, EveryValueAndEveryBoundaryOfEveryNarrowFormat) {
  for (const Format& f : kFormats) {
    for (uint32_t n = 0; n <= f.last_finite; ++n) {
      const long double low = value_by_formula(n, f.mantissa_bits, f.bias);
      const long double high = value_by_formula(n + 1, f.mantissa_bits, f.bias);
      ASSERT_EQ(decode(n, f.type), static_cast<double>(low));
      const double exact = static_cast<double>(low);
      const double middle = static_cast<double>((low + high) / 2);
      check(f, exact, n, low, high);
      check(f, std::nextafter(exact, INFINITY), n, low, high);
      check(f, std::nextafter(middle, 0.0), n, low, high);
      check(f, middle, n, low, high);
      check(f, std::nextafter(middle, INFINITY), n, low, high);
      check(f, std::nextafter(static_cast<double>(high), 0.0), n, low, high);
    }
  }
}

// Expected codes in the order of kModes.
void expect_modes(double x, DType type, std::array<uint32_t, 5> expected) {
  for (size_t i = 0; i < expected.size(); ++i)
    for (bool saturate : {false, true})
      ASSERT_EQ(encode(x, type, kModes[i], saturate), expected[i]) << name_of(type) << " " << std::hexfloat << x << " mode " << i;
}

TEST(DType, PowersOfTwoAndMidpointsOfScales) {   // ue8m0: the code is the exponent, ties go up
  for (int k = -127; k <= 127; ++k) {
    const auto n = static_cast<uint32_t>(k + 127), next = std::min(n + 1, 254u);
    const double x = std::ldexp(1.0, k), middle = 1.5 * x;
    expect_modes(x, DType::kUE8M0, {n, n, n, n, n});
    expect_modes(std::nextafter(x, INFINITY), DType::kUE8M0, {n, n, n, n, next});
    expect_modes(std::nextafter(middle, 0.0), DType::kUE8M0, {n, n, n, n, next});
    expect_modes(middle, DType::kUE8M0, {next, next, n, n, next});
    expect_modes(std::nextafter(2 * x, 0.0), DType::kUE8M0, {next, next, n, n, next});
    ASSERT_EQ(decode(n, DType::kUE8M0), x);
  }
  expect_modes(0x1p200, DType::kUE8M0, {254, 254, 254, 254, 254});
  for (uint32_t n = 0; n < 0x7e; ++n) {   // ue4m3: e4m3 without its sign
    const auto low = static_cast<double>(value_by_formula(n, 3, 7)), high = static_cast<double>(value_by_formula(n + 1, 3, 7));
    const double middle = (low + high) / 2;
    expect_modes(low, DType::kUE4M3, {n, n, n, n, n});
    expect_modes(middle, DType::kUE4M3, {n + n % 2, n + 1, n, n, n + 1});
    expect_modes(std::nextafter(middle, 0.0), DType::kUE4M3, {n, n, n, n, n + 1});
    expect_modes(std::nextafter(middle, 1e9), DType::kUE4M3, {n + 1, n + 1, n, n, n + 1});
    ASSERT_EQ(encode(-high, DType::kUE4M3), 0u);
  }
}

TEST(DType, PowersOfTwoAndMidpointsOfTf32) {
  for (int k = -126; k <= 127; ++k) {
    const auto one = static_cast<uint32_t>(k + 127) << 23, step = 1u << 13;
    const double x = std::ldexp(1.0, k), half = std::ldexp(x, -11);
    expect_modes(x, DType::kTF32, {one, one, one, one, one});
    expect_modes(x + half, DType::kTF32, {one, one + step, one, one, one + step});
    expect_modes(x + 3 * half, DType::kTF32, {one + 2 * step, one + 2 * step, one + step, one + step, one + 2 * step});
    expect_modes(-x - half, DType::kTF32,
                 {1u << 31 | one, 1u << 31 | (one + step), 1u << 31 | one, 1u << 31 | (one + step), 1u << 31 | one});
    if (k > -126) expect_modes(x - half / 2, DType::kTF32, {one, one, one - step, one - step, one});
  }
  expect_modes(0x1p-136, DType::kTF32, {1u << 13, 1u << 13, 1u << 13, 1u << 13, 1u << 13});   // the least denormal
  expect_modes(0x1p-137, DType::kTF32, {0, 1u << 13, 0, 0, 1u << 13});
}

TEST(DType, SpecialValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(encode(nan, DType::kF16), 0x7fffu);
  EXPECT_EQ(encode(-nan, DType::kBF16), 0x7fffu);
  EXPECT_EQ(encode(nan, DType::kTF32), 0x7fffe000u);
  EXPECT_EQ(encode(nan, DType::kE4M3), 0x7fu);
  EXPECT_EQ(encode(nan, DType::kE5M2, Rounding::kNearestEven, true), 0x7fu);
  EXPECT_EQ(encode(nan, DType::kE2M1), 0x7u);
  EXPECT_EQ(encode(nan, DType::kE3M2), 0x1fu);
  EXPECT_EQ(encode(nan, DType::kUE8M0), 0xffu);
  EXPECT_EQ(encode(infinity, DType::kF16), 0x7c00u);
  EXPECT_EQ(encode(infinity, DType::kF16, Rounding::kTowardZero), 0x7c00u);
  EXPECT_EQ(encode(-infinity, DType::kF16, Rounding::kNearestEven, true), 0xfbffu);
  EXPECT_EQ(encode(infinity, DType::kE4M3), 0x7fu);
  EXPECT_EQ(encode(-infinity, DType::kE4M3, Rounding::kNearestEven, true), 0xfeu);
  EXPECT_EQ(encode(1e6, DType::kF16, Rounding::kTowardZero), 0x7bffu);
  EXPECT_EQ(encode(-1e6, DType::kF16, Rounding::kUp), 0xfbffu);
  EXPECT_EQ(encode(-0.0, DType::kF16), 0x8000u);
  EXPECT_EQ(encode(-0.0, DType::kE2M1), 0x8u);
  EXPECT_EQ(encode(0x1p-1074, DType::kF16, Rounding::kUp), 0x0001u);
  EXPECT_EQ(encode(-0x1p-1074, DType::kF16, Rounding::kNearestEven), 0x8000u);
  EXPECT_EQ(encode(1 + 0x1p-11, DType::kTF32, Rounding::kNearestAway), 0x3f802000u);
  EXPECT_EQ(encode(1 + 0x1p-11, DType::kTF32, Rounding::kNearestEven), 0x3f800000u);
  EXPECT_EQ(encode(6.0, DType::kUE8M0, Rounding::kTowardZero), 129u);
  EXPECT_EQ(encode(6.0, DType::kUE8M0, Rounding::kUp), 130u);
  EXPECT_EQ(encode(0.0, DType::kUE8M0, Rounding::kUp), 0u);
  EXPECT_TRUE(std::isnan(decode(0xff, DType::kE4M3)));
  EXPECT_TRUE(std::isnan(decode(0x7e01, DType::kF16)));
  EXPECT_EQ(decode(0xfc, DType::kE5M2), -infinity);
  EXPECT_EQ(decode(0x7e, DType::kE4M3), 448.0);
}

TEST(DType, FastHalfAndBfloatPathsAgreeOnEveryHalf) {
  for (uint32_t h = 0; h < 65536; ++h) {
    const auto bits = static_cast<uint16_t>(h);
    const float f16 = f16_to_f32(bits), bf16 = bf16_to_f32(bits);
    const double slow = decode(h, DType::kF16), slow_bf = decode(h, DType::kBF16);
    ASSERT_TRUE((std::isnan(slow) && std::isnan(f16)) || static_cast<double>(f16) == slow) << h;
    ASSERT_TRUE((std::isnan(slow_bf) && std::isnan(bf16)) || static_cast<double>(bf16) == slow_bf) << h;
    ASSERT_EQ(std::signbit(f16), (h & 0x8000) != 0);
    ASSERT_EQ(f32_to_f16(f16), std::isnan(f16) ? 0x7fff : bits);
    ASSERT_EQ(f32_to_bf16(bf16), std::isnan(bf16) ? 0x7fff : bits);
  }
}

TEST(DType, FastEncodersAgreeWithEncodeAcrossAllExponents) {
  std::vector<float> values;
  for (uint32_t top = 0; top < 0x10000; ++top)
    for (uint32_t low : {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      values.push_back(std::bit_cast<float>(top << 16 | low));
  values.resize(values.size() / 32 * 32);
  std::vector<uint16_t> halves(values.size()), brains(values.size());
  encode_array(values.data(), halves.data(), values.size(), DType::kF16);
  encode_array(values.data(), brains.data(), values.size(), DType::kBF16);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto x = static_cast<double>(values[i]);
    ASSERT_EQ(halves[i], encode(x, DType::kF16)) << std::hexfloat << values[i];
    ASSERT_EQ(f32_to_f16(values[i]), halves[i]);
    ASSERT_EQ(brains[i], encode(x, DType::kBF16)) << std::hexfloat << values[i];
  }
}

TEST(DType, EncodeToFloatAgreesWithTheCompilersNarrowing) {
  const double values[] = {1.0, 0.1, 1e-40, 1e-45, 1e-46, 3.4028235e38, 3.5e38, 0x1.fffffefp127, 0x1.ffffffp127, -1e-42};
  for (double x : values) EXPECT_EQ(encode(x, DType::kF32), std::bit_cast<uint32_t>(static_cast<float>(x))) << x;
}

TEST(DType, TablesAgreeWithDecode) {
  for (DType type : {DType::kE4M3, DType::kE5M2, DType::kE3M2, DType::kE2M3, DType::kE2M1, DType::kUE8M0, DType::kUE4M3}) {
    const float* table = decode_table(type);
    ASSERT_NE(table, nullptr);
    for (uint32_t i = 0; i < 256; ++i) {
      const double slow = decode(i & ((1u << bits_of(type)) - 1u), type);
      ASSERT_TRUE(std::isnan(slow) ? std::isnan(table[i]) : static_cast<double>(table[i]) == slow);
    }
  }
  EXPECT_EQ(decode_table(DType::kF16), nullptr);
}

TEST(DType, IntegersSaturateAndRound) {
  EXPECT_EQ(encode(127.5, DType::kI8), 127u);
  EXPECT_EQ(encode(-128.5, DType::kI8), 0x80u);
  EXPECT_EQ(encode(-1.0, DType::kU8), 0u);
  EXPECT_EQ(encode(1e30, DType::kI64), 0x7fffffffffffffffull);
  EXPECT_EQ(encode(-1e30, DType::kI64), 0x8000000000000000ull);
  EXPECT_EQ(encode(1e30, DType::kU64), ~0ull);
  EXPECT_EQ(encode(-3.5, DType::kI4, Rounding::kDown), 0xcu);
  EXPECT_EQ(encode(NAN, DType::kI32), 0u);
  EXPECT_EQ(decode(0xc, DType::kI4), -4.0);
  EXPECT_EQ(decode(0xffff, DType::kI16), -1.0);
  EXPECT_EQ(decode(2, DType::kBool), 1.0);
}

TEST(DType, Names) {
  for (int i = 0; i < kDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    ASSERT_TRUE(dtype_named(name_of(type)).has_value());
    EXPECT_EQ(*dtype_named(name_of(type)), type);
  }
  EXPECT_EQ(*dtype_named("half"), DType::kF16);
  const auto unknown = dtype_named("f17");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("bf16"), std::string::npos);
}

}  // namespace
}  // namespace kw::tensor
