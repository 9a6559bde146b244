#include "sweep.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>

#include "tensor/dtype.h"

namespace kw::golden {
namespace {

// A fixed sequence of well-mixed words (splitmix64).
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

std::vector<uint64_t> every_16_bits(uint64_t (*widen)(uint64_t)) {
  std::vector<uint64_t> out;
  for (uint64_t x = 0; x < 0x10000; ++x) out.push_back(widen(x));
  return out;
}

void with_neighbours(std::vector<uint64_t>& out, uint64_t x, uint64_t mask) {
  for (const uint64_t v : {x, x + 1, x - 1}) out.push_back(v & mask);
}

std::vector<uint64_t> integers(unsigned bits) {
  const uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  std::vector<uint64_t> out;
  for (unsigned high = 0; high < bits; ++high)
    for (unsigned low = 0; low <= high; ++low)
      for (const unsigned long long x : {(1ull << high) + (1ull << low), (1ull << high) - (1ull << low), (1ull << high) + (3ull << low)}) {
        with_neighbours(out, x, mask);
        with_neighbours(out, ~x + 1, mask);
      }
  return out;
}

std::vector<uint64_t> significands(unsigned bits) {
  const uint64_t mask = (1ull << bits) - 1;
  std::vector<uint64_t> out;
  for (unsigned k = 0; k < bits; ++k)
    for (const uint64_t x : {uint64_t{1} << k, uint64_t{3} << k, mask << k}) with_neighbours(out, x, mask);
  return out;
}

std::vector<uint64_t> f32_edges() {
  std::vector<uint64_t> out;
  for (uint64_t top = 0; top < 512; ++top)
    for (const uint64_t m : significands(23)) out.push_back(top << 23 | m);
  return out;
}

// Exponents at which some type begins or ends: f32, f16 and their denormals, integers, f64 itself.
bool is_edge(int exponent) {
  const auto within = [&](int low, int high) { return exponent >= low && exponent <= high; };
  return within(-1023, -1022) || within(-151, -148) || within(-135, -125) || within(-26, 18) || within(22, 25) ||
         within(30, 34) || within(51, 54) || within(61, 65) || within(126, 129) || within(1022, 1024);
}

std::vector<uint64_t> f64_edges() {
  const std::vector<uint64_t> all = significands(52);
  const uint64_t mask = (1ull << 52) - 1;
  const uint64_t few[] = {0, 1, mask, 1ull << 51, (1ull << 51) + 1, (1ull << 51) - 1, 1ull << 28, (1ull << 28) + 1, 3ull << 28, mask & mask << 28};
  std::vector<uint64_t> out;
  for (uint64_t top = 0; top < 4096; ++top) {
    if (is_edge(static_cast<int>(top & 2047) - 1023))
      for (const uint64_t m : all) out.push_back(top << 52 | m);
    else
      for (const uint64_t m : few) out.push_back(top << 52 | m);
  }
  return out;
}

std::vector<uint64_t> f32_within(float radius) {
  std::vector<uint64_t> out;
  for (const uint64_t x : f32_edges()) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(x));
    if (!std::isfinite(value) || std::fabs(value) <= radius) out.push_back(x);
  }
  for (int i = 0; i < 65536; ++i) {
    const double step = (2.0 * i - 65535.0) / 65535.0;
    out.push_back(std::bit_cast<uint32_t>(static_cast<float>(static_cast<double>(radius) * step)));
  }
  return out;
}

// --- Pairs (a, b, a, b, …): a is any value of the first exponent, b makes of it what is wanted, give or take one ulp --------

double fraction(uint64_t seed) { return static_cast<double>(mixed(seed) >> 11) * 0x1p-53; }

// Next to the least normal number 2^least, from below to above, with `bits` of significand.
double near_least(uint64_t seed, int least, int bits) {
  return std::ldexp(1 + (fraction(seed) - 0.75) * std::ldexp(1.0, 2 - bits), least);
}

uint64_t f32_code(double value, uint64_t seed) {
  return std::bit_cast<uint32_t>(static_cast<float>(value)) + mixed(seed) % 3 - 1 + (mixed(seed) >> 8 & 1) * 0x80000000u;
}
uint64_t f16_code(double value, uint64_t seed) {
  return (tensor::encode(value, tensor::DType::kF16) + mixed(seed) % 3 - 1 + (mixed(seed) >> 8 & 1) * 0x8000u) & 0xffffu;
}
double decode(uint64_t code, bool half) { return tensor::decode(code, half ? tensor::DType::kF16 : tensor::DType::kF32); }

enum class Shape : uint8_t { kProduct, kQuotient, kAddend };
// The operation's result is near the least normal number: a × b, a / b, or 2^least + a × b.
std::vector<uint64_t> near_least_pairs(Shape shape, bool half) {
  const int least = half ? -14 : -126, bits = half ? 11 : 24;
  std::vector<uint64_t> out;
  for (uint64_t i = 0; i < 65536; ++i) {
    const uint64_t seed = 16 * i;
    double target = near_least(seed, least, bits);
    if (shape == Shape::kAddend) target = std::ldexp(1.0, least) - target;
    // Exponents of a that leave b normal.
    const int room = shape == Shape::kQuotient ? 2 - least : shape == Shape::kAddend ? -least - bits - 2 : -least - 2;
    const int drawn = static_cast<int>(mixed(seed + 1) % static_cast<uint64_t>(room));
    const int exponent = shape == Shape::kQuotient ? drawn - 1 : -drawn - 1 - (shape == Shape::kAddend ? bits : 0);
    const double magnitude = std::ldexp(1 + fraction(seed + 2), exponent);
    const auto code = [&](double v, uint64_t s) { return half ? f16_code(v, s) : f32_code(v, s); };
    const uint64_t first = code(magnitude, seed + 3);
    const double value = std::fabs(decode(first, half));
    const uint64_t second = code(shape == Shape::kQuotient ? target * value : target / value, seed + 4);
    out.push_back(shape == Shape::kQuotient ? second : first);
    out.push_back(shape == Shape::kQuotient ? first : second);
  }
  return out;
}

}  // namespace

std::vector<uint64_t> sweep(std::string_view name) {
  if (name == "b8") return every_16_bits([](uint64_t x) { return x << 16 | x; });
  if (name == "b16") return every_16_bits([](uint64_t x) { return x; });
  if (name == "b16x2") return every_16_bits([](uint64_t x) { return (x * 40503 & 0xffff) << 16 | x; });   // odd: a permutation
  if (name == "i32") return integers(32);
  if (name == "i64") return integers(64);
  if (name == "f32") return f32_edges();
  if (name == "f64") return f64_edges();
  if (name == "f32:a*b") return near_least_pairs(Shape::kProduct, false);
  if (name == "f32:a/b") return near_least_pairs(Shape::kQuotient, false);
  if (name == "f32:a*b+c") return near_least_pairs(Shape::kAddend, false);
  if (name == "f16:a*b") return near_least_pairs(Shape::kProduct, true);
  if (name == "f16:a*b+c") return near_least_pairs(Shape::kAddend, true);
  if (name == "f32+") {
    std::vector<uint64_t> out = f32_edges();
    for (uint64_t i = 0; i < 65536; ++i) out.push_back(mixed(i) >> 32);
    return out;
  }
  if (name.substr(0, 4) == "f32<") return f32_within(std::strtof(std::string(name.substr(4)).c_str(), nullptr));
  return {};
}

}  // namespace kw::golden
