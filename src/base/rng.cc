#include "base/rng.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/hash.h"

namespace kw {
namespace {

// libm's log differs by an ulp between C libraries; this one is +, -, *, / only, so the same everywhere.
double portable_log(double x) {
  int exponent = static_cast<int>((std::bit_cast<uint64_t>(x) >> 52) & 0x7ff) - 1023;
  double mantissa =
      std::bit_cast<double>((std::bit_cast<uint64_t>(x) & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  // log(m) = 2 atanh((m-1)/(m+1)); |t| <= 0.1716, so eleven odd terms reach double precision.
  const double t = (mantissa - 1) / (mantissa + 1);
  const double t2 = t * t;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * t2 + 1.0 / k;
  return 2 * t * sum + exponent * 0.6931471805599453;
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(product1),
         static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(product0)};
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c;
}

Rng Rng::fork(std::string_view purpose) const { return Rng(seed_, hash_64(purpose, stream_ + 1)); }

uint64_t Rng::at(uint64_t index) const {
  const uint64_t block = index >> 1;
  const auto words = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                             static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
                            {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
  const size_t half = static_cast<size_t>(index & 1) * 2;
  return words[half] | (uint64_t{words[half + 1]} << 32);
}

uint64_t Rng::below(uint64_t bound) {
  if (bound == 0) return 0;
  // Rejects the low remainder so that every value is equally likely.
  const uint64_t threshold = (0 - bound) % bound;
  while (true) {
    const uint64_t bits = next();
    if (bits >= threshold) return bits % bound;
  }
}

double Rng::normal() { return to_normal(to_unit(next()) + 0x1.0p-54); }

// P. Acklam's rational approximation of the normal quantile (relative error below 1.15e-9).
double Rng::to_normal(double p) {
  static constexpr double kA[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                  1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  static constexpr double kB[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                                  6.680131188771972e+01, -1.328068155288572e+01};
  static constexpr double kC[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                  -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  static constexpr double kD[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                  3.754408661907416e+00};
  p = std::clamp(p, 0x1.0p-54, 1 - 0x1.0p-53);
  const auto tail = [](double q) {
    return (((((kC[0] * q + kC[1]) * q + kC[2]) * q + kC[3]) * q + kC[4]) * q + kC[5]) /
           ((((kD[0] * q + kD[1]) * q + kD[2]) * q + kD[3]) * q + 1);
  };
  static constexpr double kLow = 0.02425;
  if (p < kLow) return tail(std::sqrt(-2 * portable_log(p)));
  if (p > 1 - kLow) return -tail(std::sqrt(-2 * portable_log(1 - p)));
  const double q = p - 0.5;
  const double r = q * q;
  return (((((kA[0] * r + kA[1]) * r + kA[2]) * r + kA[3]) * r + kA[4]) * r + kA[5]) * q /
         (((((kB[0] * r + kB[1]) * r + kB[2]) * r + kB[3]) * r + kB[4]) * r + 1);
}

}  // namespace kw
