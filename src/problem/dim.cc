#include "problem/dim.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace kw::problem {
namespace {

constexpr std::size_t kMostTerms = 32;
constexpr std::size_t kMostFactors = 8;
constexpr std::size_t kLongestText = 256;
constexpr std::int64_t kLargest = std::int64_t{1} << 62;

tl::unexpected<Error> too_large() {
  return fail(ErrorCode::kLimit, "the size overflows 62 bits; choose smaller numbers");
}

Result<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  if (__builtin_add_overflow(a, b, &sum) || sum > kLargest || sum < -kLargest) return too_large();
  return sum;
}

Result<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  if (__builtin_mul_overflow(a, b, &product) || product > kLargest || product < -kLargest) return too_large();
  return product;
}

// |a|, |b| <= 2^62, so a / -1 does not overflow.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

Result<std::int64_t> apply(char operation, std::int64_t a, std::int64_t b) {
  if (b == 0) return fail(ErrorCode::kInvalid, "a size is divided by zero");
  return operation == '/' ? floor_quotient(a, b) : a - floor_quotient(a, b) * b;
}

}  // namespace

struct Dim::Quotient {
  char operation;  // '/' for //, '%'
  Dim left, right;
};

Dim::Dim(std::int64_t constant) {
  if (constant != 0) terms_[{}] = constant;
}

Dim Dim::axis(const std::string& name) {
  Dim dim;
  dim.terms_[{Factor{name, nullptr}}] = 1;
  return dim;
}

Status Dim::insert(Monomial monomial, std::int64_t coefficient) {
  if (monomial.size() > kMostFactors)
    return fail(ErrorCode::kLimit, "a size multiplies more than {} axes; simplify it", kMostFactors);
  std::sort(monomial.begin(), monomial.end());
  const auto at = terms_.try_emplace(std::move(monomial), 0).first;
  KW_TRY(at->second, checked_add(at->second, coefficient));
  if (at->second == 0) terms_.erase(at);
  if (terms_.size() > kMostTerms)
    return fail(ErrorCode::kLimit, "a size has more than {} terms; simplify it", kMostTerms);
  return {};
}

Result<Dim> Dim::add(const Dim& a, const Dim& b) {
  Dim sum = a;
  for (const auto& [monomial, coefficient] : b.terms_) KW_TRY_VOID(sum.insert(monomial, coefficient));
  return sum;
}

Result<Dim> Dim::subtract(const Dim& a, const Dim& b) {
  Dim difference = a;
  for (const auto& [monomial, coefficient] : b.terms_) KW_TRY_VOID(difference.insert(monomial, -coefficient));
  return difference;
}

Result<Dim> Dim::multiply(const Dim& a, const Dim& b) {
  Dim product;
  for (const auto& [left, m] : a.terms_)
    for (const auto& [right, n] : b.terms_) {
      Monomial monomial = left;
      monomial.insert(monomial.end(), right.begin(), right.end());
      KW_TRY(const std::int64_t coefficient, checked_multiply(m, n));
      KW_TRY_VOID(product.insert(std::move(monomial), coefficient));
    }
  return product;
}

Result<Dim> Dim::quotient(char operation, const Dim& a, const Dim& b) {
  Factor factor;
  const auto bracketed = [](const Dim& dim, bool whole) { return whole ? dim.text() : fmt::format("({})", dim.text()); };
  const bool one_factor = b.constant() || (b.terms_.size() == 1 && b.terms_.begin()->first.size() == 1);
  factor.name = fmt::format("({} {} {})", bracketed(a, a.terms_.size() == 1), operation == '/' ? "//" : "%",
                            bracketed(b, one_factor));
  if (factor.name.size() > kLongestText)
    return fail(ErrorCode::kLimit, "a size is too long to write; simplify it");
  factor.quotient = std::make_shared<const Quotient>(Quotient{operation, a, b});
  Dim dim;
  dim.terms_[{std::move(factor)}] = 1;
  return dim;
}

std::pair<Dim, Dim> Dim::split(std::int64_t divisor) const {
  Dim whole, rest;
  for (const auto& [monomial, coefficient] : terms_) {
    const std::int64_t times = floor_quotient(coefficient, divisor), left = coefficient - times * divisor;
    if (times != 0) whole.terms_[monomial] = times;
    if (left != 0) rest.terms_[monomial] = left;
  }
  return {std::move(whole), std::move(rest)};
}

// Of x // m + c with m > 0: x // m. Else nothing.
const Dim::Quotient* Dim::quotient_plus_constant() const {
  const Quotient* found = nullptr;
  for (const auto& [monomial, coefficient] : terms_) {
    if (monomial.empty()) continue;
    if (found != nullptr || coefficient != 1 || monomial.size() != 1 || !monomial[0].quotient) return nullptr;
    found = monomial[0].quotient.get();
  }
  if (found == nullptr || found->operation != '/' || found->right.constant().value_or(0) <= 0) return nullptr;
  return found;
}

Result<Dim> Dim::floor_divide(const Dim& a, const Dim& b) {
  const auto divisor = b.constant();
  if (divisor && *divisor == 0) return fail(ErrorCode::kInvalid, "a size is divided by zero");
  if (const auto dividend = a.constant(); dividend && divisor)
    return Dim(floor_quotient(*dividend, *divisor));
  if (!divisor) return quotient('/', a, b);
  const auto [whole, rest] = a.split(*divisor);
  if (const auto left = rest.constant()) return add(whole, Dim(floor_quotient(*left, *divisor)));
  if (const Quotient* inner = rest.quotient_plus_constant(); inner != nullptr && *divisor > 0) {  // (x // m + c) // n = (x + c m) // (m n)
    const auto shift = rest.terms_.find({});
    KW_TRY(const std::int64_t both, checked_multiply(*inner->right.constant(), *divisor));
    KW_TRY(const std::int64_t moved, checked_multiply(*inner->right.constant(), shift == rest.terms_.end() ? 0 : shift->second));
    KW_TRY(const Dim numerator, add(inner->left, Dim(moved)));
    KW_TRY(const Dim part, floor_divide(numerator, Dim(both)));
    return add(whole, part);
  }
  KW_TRY(const Dim part, quotient('/', rest, b));
  return add(whole, part);
}

Result<Dim> Dim::remainder(const Dim& a, const Dim& b) {
  const auto divisor = b.constant();
  if (divisor && *divisor == 0) return fail(ErrorCode::kInvalid, "a size is divided by zero");
  if (const auto dividend = a.constant(); dividend && divisor)
    return Dim(*dividend - floor_quotient(*dividend, *divisor) * *divisor);
  if (!divisor) return quotient('%', a, b);
  const Dim rest = a.split(*divisor).second;
  if (const auto left = rest.constant()) return Dim(*left - floor_quotient(*left, *divisor) * *divisor);
  return quotient('%', rest, b);
}

std::optional<std::int64_t> Dim::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

Result<std::int64_t> Dim::evaluate(const AxisValues& axes) const {
  std::int64_t sum = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    std::int64_t product = coefficient;
    for (const Factor& factor : monomial) {
      std::int64_t value = 0;
      if (factor.quotient) {
        KW_TRY(const std::int64_t left, factor.quotient->left.evaluate(axes));
        KW_TRY(const std::int64_t right, factor.quotient->right.evaluate(axes));
        KW_TRY(value, apply(factor.quotient->operation, left, right));
      } else {
        const auto at = axes.find(factor.name);
        if (at == axes.end())
          return fail(ErrorCode::kNotFound, "axis '{}' has no value; give it one", factor.name);
        value = at->second;
        if (value > kLargest || value < -kLargest) return too_large();
      }
      KW_TRY(product, checked_multiply(product, value));
    }
    KW_TRY(sum, checked_add(sum, product));
  }
  return sum;
}

bool Dim::operator==(const Dim& other) const {
  return std::equal(terms_.begin(), terms_.end(), other.terms_.begin(), other.terms_.end(),
                    [](const auto& a, const auto& b) {
                      return a.second == b.second &&
                             std::equal(a.first.begin(), a.first.end(), b.first.begin(), b.first.end(),
                                        [](const Factor& x, const Factor& y) { return x.name == y.name; });
                    });
}

bool Dim::has_quotient() const {
  for (const auto& term : terms_)
    for (const Factor& factor : term.first)
      if (factor.quotient) return true;
  return false;
}

std::string Dim::text() const {
  if (terms_.empty()) return "0";
  std::string text;
  // Axes first, the constant (which sorts first) last: "2*M + 1".
  const auto append = [&](const Monomial& monomial, std::int64_t coefficient) {
    std::vector<std::string> names;
    for (const Factor& factor : monomial) names.push_back(factor.name);
    const std::int64_t magnitude = coefficient < 0 ? -coefficient : coefficient;
    if (!text.empty())
      text.append(coefficient < 0 ? " - " : " + ");
    else if (coefficient < 0)
      text.push_back('-');
    if (names.empty())
      text += fmt::format("{}", magnitude);
    else
      text += magnitude == 1 ? fmt::format("{}", fmt::join(names, "*"))
                             : fmt::format("{}*{}", magnitude, fmt::join(names, "*"));
  };
  for (const auto& [monomial, coefficient] : terms_)
    if (!monomial.empty()) append(monomial, coefficient);
  if (const auto at = terms_.find({}); at != terms_.end()) append(at->first, at->second);
  return text;
}

void Dim::collect_axes(std::vector<std::string>& names) const {
  for (const auto& term : terms_)
    for (const Factor& factor : term.first) {
      if (factor.quotient) {
        factor.quotient->left.collect_axes(names);
        factor.quotient->right.collect_axes(names);
      } else {
        names.push_back(factor.name);
      }
    }
}

std::string shape_text(const SymbolicShape& shape) {
  std::vector<std::string> sizes;
  for (const Dim& dim : shape) sizes.push_back(dim.text());
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

}  // namespace kw::problem
