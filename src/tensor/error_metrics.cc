#include "tensor/error_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/parallel.h"

namespace kw::tensor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kPiece = 1 << 16;  // elements that are compared together

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

// Of neighbouring elements. Pieces are the same whatever the threads, so their sums, added in order, are too.
struct Piece {
  ErrorMetrics metrics;
  double worst_key = -1, peak = 0;
  double squares = 0, dot = 0, got_norm = 0, reference_norm = 0;   // sums
};

class Comparison {
 public:
  Comparison(const Tensor& got, const Tensor& reference, const std::optional<Budget>& budget)
      : got_(got), expected_(reference.f64()), budget_(budget), largest_(largest_finite(got.dtype())) {}

  Piece piece(std::int64_t begin, std::span<const double> values) const {
    Piece found;
    ErrorMetrics& metrics = found.metrics;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t at = begin + static_cast<std::int64_t>(i);
      const double expected = expected_[static_cast<std::size_t>(at)];
      const Pair pair = judge_pair(values[i], expected, got_.dtype(), largest_);
      const double magnitude = std::abs(expected);
      const double allowed = allowed_at(budget_, pair, expected);
      const bool failing = is_failing(budget_, pair, allowed);
      double key = pair.error;
      if (pair.mismatch) {
        ++metrics.kind_mismatches;
      } else if (pair.finite) {
        ++metrics.compared;
        metrics.max_abs = std::max(metrics.max_abs, pair.error);
        if (expected != 0) metrics.max_rel = std::max(metrics.max_rel, pair.error / magnitude);
        if (pair.error != 0) metrics.max_ulp = std::max(metrics.max_ulp, pair.error / ulp_at(got_.dtype(), expected));
        found.peak = std::max(found.peak, magnitude);
        found.squares += pair.error * pair.error;
        found.dot += values[i] * expected;
        found.got_norm += values[i] * values[i];
        found.reference_norm += magnitude * magnitude;
        if (budget_ && pair.error != 0) key = allowed > 0 ? pair.error / allowed : kInfinity;
      }
      if (budget_) metrics.budget_used = std::max(metrics.budget_used, key);
      if (!failing && key <= found.worst_key) continue;
      const ElementError element{at, values[i], expected, pair.error, allowed};
      if (failing && metrics.failing++ == 0) metrics.first = element;
      if (key > found.worst_key) {
        found.worst_key = key;
        metrics.worst = element;
      }
    }
    return found;
  }

 private:
  const Tensor& got_;
  std::span<const double> expected_;
  const std::optional<Budget>& budget_;
  double largest_;
};

void finish(Piece& all) {
  ErrorMetrics& metrics = all.metrics;
  if (metrics.compared > 0) metrics.rmse = std::sqrt(all.squares / static_cast<double>(metrics.compared));
  metrics.psnr = metrics.rmse == 0 ? kInfinity : 20 * std::log10(all.peak / metrics.rmse);
  if (all.got_norm == 0 && all.reference_norm == 0)
    metrics.cosine = 1;
  else if (all.got_norm == 0 || all.reference_norm == 0)
    metrics.cosine = 0;
  else
    metrics.cosine = all.dot / (std::sqrt(all.got_norm) * std::sqrt(all.reference_norm));
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
  const Comparison comparison(got, reference, budget);
  const std::int64_t count = got.size(), pieces = (count + kPiece - 1) / kPiece;
  std::vector<Piece> found(static_cast<std::size_t>(pieces));
  parallel_for(static_cast<std::uint64_t>(pieces), pieces > 4 ? available_cores() : 1, [&](std::uint64_t index) {
    const std::int64_t begin = static_cast<std::int64_t>(index) * kPiece;
    std::vector<double> values(static_cast<std::size_t>(std::min(kPiece, count - begin)));
    got.read(begin, values);
    found[index] = comparison.piece(begin, values);
  });
  Piece all;
  ErrorMetrics& metrics = all.metrics;
  metrics.elements = count;
  for (const Piece& piece : found) {
    const ErrorMetrics& its = piece.metrics;
    metrics.compared += its.compared;
    metrics.kind_mismatches += its.kind_mismatches;
    metrics.max_abs = std::max(metrics.max_abs, its.max_abs);
    metrics.max_rel = std::max(metrics.max_rel, its.max_rel);
    metrics.max_ulp = std::max(metrics.max_ulp, its.max_ulp);
    metrics.budget_used = std::max(metrics.budget_used, its.budget_used);
    if (metrics.failing == 0) metrics.first = its.first;
    metrics.failing += its.failing;
    if (piece.worst_key > all.worst_key) {
      all.worst_key = piece.worst_key;
      metrics.worst = its.worst;
    }
    all.peak = std::max(all.peak, piece.peak);
    for (double Piece::*sum : {&Piece::squares, &Piece::dot, &Piece::got_norm, &Piece::reference_norm}) all.*sum += piece.*sum;
  }
  finish(all);
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
