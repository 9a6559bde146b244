// Symbolic sizes: what the shape of a tensor says before the axes have values.
//
// A Dim is an integer polynomial over axes and over the quotients and remainders that do not simplify, kept
// in one canonical form, so that equal polynomials compare equal: (M + 1) * 2 == 2 * M + 2, and
// D // 2 + (D - D // 2) == D. `//` and `%` round toward minus infinity, as in Python. What a number divides leaves
// its quotient: (2 * M + N - 1) // 2 == M + (N + 1) // 2 - 1.
// Two Dims that are not equal here may still take the same value; shape rules then ask the author to use
// one axis. Values; thread-safe to read.
// Bounds: at most 32 terms of degree 8; every number stays within 62 bits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw::problem {

using AxisValues = std::map<std::string, std::int64_t>;

class Dim {
 public:
  Dim() = default;             // 0
  Dim(std::int64_t constant);  // NOLINT(google-explicit-constructor): a number is a size
  static Dim axis(const std::string& name);

  // kLimit when the result would exceed the bounds above; kInvalid for a constant division by zero.
  static Result<Dim> add(const Dim& a, const Dim& b);
  static Result<Dim> subtract(const Dim& a, const Dim& b);
  static Result<Dim> multiply(const Dim& a, const Dim& b);
  static Result<Dim> floor_divide(const Dim& a, const Dim& b);
  static Result<Dim> remainder(const Dim& a, const Dim& b);

  std::optional<std::int64_t> constant() const;  // when it has no axis
  // kNotFound for an axis without a value, kLimit on overflow, kInvalid on division by zero.
  Result<std::int64_t> evaluate(const AxisValues& axes) const;
  std::string text() const;  // "2*M + K // 2"
  // Adds the names of the axes it mentions.
  void collect_axes(std::vector<std::string>& names) const;

  bool operator==(const Dim& other) const;
  bool has_quotient() const;  // mentions // or %, so that equality may hide behind a constraint

 private:
  struct Quotient;
  struct Factor {  // an axis, or a quotient or remainder with its canonical text as name
    std::string name;
    std::shared_ptr<const Quotient> quotient;
    bool operator<(const Factor& other) const { return name < other.name; }
  };
  using Monomial = std::vector<Factor>;  // sorted by name; empty: the constant term
  static Result<Dim> quotient(char operation, const Dim& a, const Dim& b);
  std::pair<Dim, Dim> split(std::int64_t divisor) const;  // divisor * first + second
  Status insert(Monomial monomial, std::int64_t coefficient);
  const Quotient* quotient_plus_constant() const;

  std::map<Monomial, std::int64_t> terms_;  // no zero coefficients
};

using SymbolicShape = std::vector<Dim>;
std::string shape_text(const SymbolicShape& shape);  // "[M, 2*K]"

}  // namespace kw::problem
