// Values rounded to element types, and to fewer bits.
#include <bit>
#include <cmath>

#include "problem/first.h"
#include "problem/host_ops.h"
#include "tensor/error_metrics.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kPiece = 1 << 15;
using tensor::Rounding;

// To nearest even at `bits` bits after the leading one; x is finite.
double keep_bits(double x, int bits) {
  const auto word = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t low = std::uint64_t{1} << (52 - bits);
  return std::bit_cast<double>((word + (low / 2 - 1) + ((word / low) & 1)) & ~(low - 1));
}

template <typename F>
void map(const F& f, const double* a, double* out, std::int64_t count, int threads) {
  for_pieces(count, kPiece, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = f(a[i]);
  });
}

double through(double x, DType dtype, Rounding rounding, bool saturate) {
  return tensor::decode(tensor::encode(x, dtype, rounding, saturate), dtype);
}

}  // namespace

void round_to_dtype(DType dtype, const double* a, double* out, std::int64_t count, int threads, Rounding rounding,
                    bool saturate) {
  if (dtype == DType::kF64) return map([](double x) { return x; }, a, out, count, threads);
  if (dtype == DType::kBool) return map([](double x) { return x != 0 ? 1.0 : 0.0; }, a, out, count, threads);
  const bool nearest = rounding == Rounding::kNearestEven;
  if (dtype == DType::kF32 && nearest && !saturate)
    return map([](double x) { return static_cast<double>(static_cast<float>(x)); }, a, out, count, threads);
  const tensor::FloatFormat* format = tensor::float_format(dtype);
  // Normal values are those whose rounding is only a matter of mantissa bits.
  const bool shortcut = nearest && format != nullptr && format->has_sign;
  const double largest = shortcut ? tensor::decode(format->max_finite, dtype) : -1;
  const double least = shortcut ? std::ldexp(1.0, 1 - format->bias) : 0;
  const int bits = shortcut ? format->mantissa_bits : 0;
  map(
      [&](double x) {
        const double magnitude = std::abs(x);
        return magnitude >= least && magnitude <= largest ? keep_bits(x, bits)
                                                          : through(x, dtype, rounding, saturate);
      },
      a, out, count, threads);
}

Status round_by_chance(DType dtype, bool saturate, const Array& a, const double* words, double* out,
                       std::int64_t count, int threads) {
  First outside;
  for_pieces(count, kPiece, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double x = a.data[i];
      if (!(words[i] >= 0 && words[i] < 0x1p32)) return outside.see(i);
      const double near = through(x, dtype, Rounding::kTowardZero, saturate);
      if (near == x || x != x || std::isinf(x)) {
        out[i] = through(x, dtype, Rounding::kNearestEven, saturate);
        continue;
      }
      const double fraction = (std::abs(x) - std::abs(near)) / tensor::ulp_at(dtype, near);
      const Rounding away = x > 0 ? Rounding::kUp : Rounding::kDown;
      out[i] = fraction >= 1 - words[i] * 0x1p-32 ? through(x, dtype, away, saturate) : near;
    }
  });
  if (outside.none()) return {};
  return fail(ErrorCode::kInvalid, "cast: the random word at {} is {:.0f}; a word lies between 0 and 2^32 - 1",
              a.place_of(outside.at()), words[outside.at()]);
}

void round_to_bits(int bits, double* values, std::int64_t count, int threads) {
  map([bits](double x) { return std::isfinite(x) ? keep_bits(x, bits) : x; }, values, values, count, threads);
}

}  // namespace kw::problem
