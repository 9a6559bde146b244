// The approximate functions of PTX (`.approx`): the exact value, the error that PTX ISA 9.0 sections 9.7.3 to 9.7.5 allow, and
// how far results are from it. Values; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unary_form.h"

namespace kw::golden {

struct Bound {
  // kLogarithm: absolute for operands in (0.5, 2), else relative.
  enum class Measure : uint8_t { kUlp, kRelative, kAbsolute, kLogarithm } measure = Measure::kUlp;
  double limit = 0;
  bool stated = true;   // false: the ISA names none, and `limit` is what hardware does
};
std::optional<Bound> bound_of(const UnaryForm& form);   // none: the form is exact

struct ApproximationError {
  double worst = 0;              // in the bound's measure; infinite for a NaN or infinity that should be none
  uint64_t worst_operand = 0;
  // Operands whose results are exact: NaN, infinities, zeros (denormals under .ftz), negative ones of lg2, sqrt and rsqrt.
  // Their results in order.
  std::vector<uint8_t> exceptional;
  size_t exceptions = 0;
};
ApproximationError error_of(const UnaryForm& form, const Bound& bound, const std::vector<uint8_t>& input,
                            const std::vector<uint8_t>& output);

}  // namespace kw::golden
