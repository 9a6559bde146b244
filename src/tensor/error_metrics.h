// How far a tensor is from an fp64 reference, and whether that is within a budget.
//
// Contract. `got` has any dtype, `reference` is f64; both have the same number of elements, else kInvalid.
// The two are compared element by element, in doubles, in flat row-major order.
//
// Values that are not finite. Let E be the reference rounded to got's dtype, which is what a perfect
// candidate would have stored.
//   E is NaN: the candidate must be NaN (any payload).
//   E is ±inf (from the reference, or by overflow of the dtype): the candidate must be that infinity; when
//     the reference itself is finite, the largest finite value of that sign is accepted too.
//   E finite: the candidate must be finite.
// A violation is a *mismatch of kind*: it always fails, it counts in `kind_mismatches`, its error is +inf,
// and it is left out of every average. A pair that matches in kind has error 0 and is also left out.
//
// Metrics over the remaining (finite) pairs, e = got - reference:
//   max_abs  max |e|          rmse  sqrt(mean e^2)
//   max_rel  max |e| / |reference| over elements with reference != 0
//   psnr     20 log10(peak / rmse) dB, peak = max |reference|; +inf when rmse is 0
//   cosine   <got, reference> / (|got| |reference|); 1 when both are all zero, 0 when one of them is
//   max_ulp  max |e| / ulp(reference), ulp = the spacing of got's dtype at the reference's magnitude, not
//            less than the smallest denormal; 1 for integer dtypes
// "Worst" is the element with the greatest |e| / budget (|e| when there is no budget); ties: the first.
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace kw::tensor {

// |got - reference| <= atol + rtol * |reference|. Both zero: must be equal as numbers.
struct Budget {
  double atol = 0;
  double rtol = 0;
};

struct ElementError {
  std::int64_t index = 0;  // flat
  double got = 0;
  double reference = 0;
  double error = 0;    // |got - reference|; +inf on a mismatch of kind
  double allowed = 0;  // the budget at this element; 0 without one
};

struct ErrorMetrics {
  std::int64_t elements = 0;
  std::int64_t compared = 0;         // finite pairs
  std::int64_t kind_mismatches = 0;  // NaN or infinity on one side only
  double max_abs = 0;
  double max_rel = 0;
  double rmse = 0;
  double psnr = 0;
  double cosine = 1;
  double max_ulp = 0;
  // The greatest |error| / allowed: how much of the budget was used; <= 1 passes. +inf on a mismatch of
  // kind or an error where nothing is allowed. 0 without a budget.
  double budget_used = 0;
  std::int64_t failing = 0;           // elements over the budget, mismatches of kind among them
  std::optional<ElementError> first;  // the first failing element
  std::optional<ElementError> worst;  // the worst element whether failing or not; none when empty
  bool passed() const { return failing == 0; }
};

// Without a budget only mismatches of kind count as failing.
Result<ErrorMetrics> compare(const Tensor& got, const Tensor& reference,
                             std::optional<Budget> budget = std::nullopt);

// The flat indexes of the elements that compare() counts as failing, ascending.
Result<std::vector<std::int64_t>> failing_elements(const Tensor& got, const Tensor& reference, const Budget& budget);

// The spacing of the dtype's values at |value|: at least the smallest denormal; 1 for integers and bool.
double ulp_at(DType dtype, double value);

// Half the relative spacing at 1: 2^-11 for f16, 2^-24 for f32, 2^-53 for f64; 0 for integers and bool.
double unit_roundoff(DType dtype);

}  // namespace kw::tensor
