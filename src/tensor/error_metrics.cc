#include "tensor/error_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace kw::tensor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Bits of precision and the exponent of the smallest normal value, of the value as a double.
struct Precision {
  int mantissa_bits;
  int lowest_exponent;
};

std::optional<Precision> precision_of(DType dtype) {
  if (dtype == DType::kF64) return Precision{52, -1022};
  const FloatFormat* format = float_format(dtype);
  if (format == nullptr) return std::nullopt;
  // ue8m0 has no denormals and no mantissa: its smallest value is 2^-bias.
  const int lowest = format->mantissa_bits == 0 ? -format->bias : 1 - format->bias;
  return Precision{format->mantissa_bits, lowest};
}

double largest_finite(DType dtype) {
  if (dtype == DType::kF64) return std::numeric_limits<double>::max();
  const FloatFormat* format = float_format(dtype);
  return format == nullptr ? kInfinity : decode(format->max_finite, dtype);
}

struct Pair {
  double error;  // |got - reference|; +inf on a mismatch of kind
  bool mismatch;
  bool finite;  // takes part in the averages
};

Pair judge_pair(double got, double reference, DType dtype, double largest) {
  if (std::isfinite(got) && std::isfinite(reference)) {
    const double expected =
        std::abs(reference) <= largest ? reference : decode(encode(reference, dtype), dtype);
    if (std::isfinite(expected)) return {std::abs(got - reference), false, true};
    // The dtype overflows here; the largest finite value is as near as saturating hardware gets.
    const bool saturated = std::abs(got) == largest && std::signbit(got) == std::signbit(reference);
    return saturated ? Pair{0, false, false} : Pair{kInfinity, true, false};
  }
  const double expected = decode(encode(reference, dtype), dtype);
  const bool same = std::isnan(expected) ? std::isnan(got) : got == expected;
  return same ? Pair{0, false, false} : Pair{kInfinity, true, false};
}

double allowed_at(const std::optional<Budget>& budget, const Pair& pair, double reference) {
  return budget && pair.finite ? budget->atol + budget->rtol * std::abs(reference) : 0;
}

bool is_failing(const std::optional<Budget>& budget, const Pair& pair, double allowed) {
  return pair.mismatch || (budget && pair.error > allowed);
}

Status check_pair(const Tensor& got, const Tensor& reference) {
  if (reference.dtype() != DType::kF64)
    return fail(ErrorCode::kInvalid, "the reference is {}; it must be f64", reference.description());
  if (got.size() != reference.size())
    return fail(ErrorCode::kInvalid, "{} has {} elements and the reference {}", got.description(), got.size(),
                reference.size());
  return {};
}

}  // namespace

double ulp_at(DType dtype, double value) {
  const auto precision = precision_of(dtype);
  if (!precision || !std::isfinite(value)) return 1;
  const int exponent =
      value == 0 ? precision->lowest_exponent : std::max(std::ilogb(value), precision->lowest_exponent);
  return std::ldexp(1.0, exponent - precision->mantissa_bits);
}

double unit_roundoff(DType dtype) {
  const auto precision = precision_of(dtype);
  return precision ? std::ldexp(1.0, -precision->mantissa_bits - 1) : 0;
}

Result<ErrorMetrics> compare(const Tensor& got, const Tensor& reference, std::optional<Budget> budget) {
  KW_TRY_VOID(check_pair(got, reference));
  ErrorMetrics metrics;
  metrics.elements = got.size();
  const double largest = largest_finite(got.dtype());
  const auto expected = reference.f64();
  const std::vector<double> values = got.to_doubles();
  double squares = 0, peak = 0, dot = 0, got_norm = 0, reference_norm = 0, worst_key = -1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Pair pair = judge_pair(values[i], expected[i], got.dtype(), largest);
    const double magnitude = std::abs(expected[i]);
    const double allowed = allowed_at(budget, pair, expected[i]);
    const bool failing = is_failing(budget, pair, allowed);
    double key = pair.error;
    if (pair.mismatch) {
      ++metrics.kind_mismatches;
    } else if (pair.finite) {
      ++metrics.compared;
      metrics.max_abs = std::max(metrics.max_abs, pair.error);
      if (expected[i] != 0) metrics.max_rel = std::max(metrics.max_rel, pair.error / magnitude);
      if (pair.error != 0)
        metrics.max_ulp = std::max(metrics.max_ulp, pair.error / ulp_at(got.dtype(), expected[i]));
      squares += pair.error * pair.error;
      peak = std::max(peak, magnitude);
      dot += values[i] * expected[i];
      got_norm += values[i] * values[i];
      reference_norm += magnitude * magnitude;
      if (budget && pair.error != 0) key = allowed > 0 ? pair.error / allowed : kInfinity;
    }
    if (budget) metrics.budget_used = std::max(metrics.budget_used, key);
    if (!failing && key <= worst_key) continue;
    const ElementError element{static_cast<std::int64_t>(i), values[i], expected[i], pair.error, allowed};
    if (failing && metrics.failing++ == 0) metrics.first = element;
    if (key > worst_key) {
      worst_key = key;
      metrics.worst = element;
    }
  }
  if (metrics.compared > 0) metrics.rmse = std::sqrt(squares / static_cast<double>(metrics.compared));
  metrics.psnr = metrics.rmse == 0 ? kInfinity : 20 * std::log10(peak / metrics.rmse);
  if (got_norm == 0 && reference_norm == 0)
    metrics.cosine = 1;
  else if (got_norm == 0 || reference_norm == 0)
    metrics.cosine = 0;
  else
    metrics.cosine = dot / (std::sqrt(got_norm) * std::sqrt(reference_norm));
  return metrics;
}

Result<std::vector<std::int64_t>> failing_elements(const Tensor& got, const Tensor& reference, const Budget& budget) {
  KW_TRY_VOID(check_pair(got, reference));
  std::vector<std::int64_t> failing;
  const double largest = largest_finite(got.dtype());
  const auto expected = reference.f64();
  const std::vector<double> values = got.to_doubles();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Pair pair = judge_pair(values[i], expected[i], got.dtype(), largest);
    if (is_failing(budget, pair, allowed_at(budget, pair, expected[i]))) failing.push_back(static_cast<std::int64_t>(i));
  }
  return failing;
}

}  // namespace kw::tensor
