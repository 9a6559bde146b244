// Evaluates the cases of a file that tools/operator_cases.py wrote and compares with PyTorch's results; with
// --hostile gives their graphs other values instead, such as nan, infinities and indices from nowhere: evaluation must
// end in every precision, and the number of threads must not show.
// Usage: kw_operator_cases_test [--hostile] FILE. Exit code 1 and FILE:LINE for each case that fails. The head of
// operators.golden has the format.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "problem/evaluate.h"
#include "problem/problem.h"

namespace {

using kw::problem::Problem;

struct Value {
  std::string name, type;  // type with its shape: "f64[2, 3]"
  std::vector<double> elements;
};

struct Case {
  int line = 0;
  std::vector<std::string> statements;
  std::vector<Value> inputs;
  Value expected;
  enum { kSame, kUlps, kAbsolute } rule = kSame;
  std::vector<double> bounds;  // of kUlps one, of kAbsolute one for each element
};

std::vector<double> numbers(const std::string& text) {
  std::vector<double> values;
  const char* at = text.c_str();
  for (char* end = nullptr;; at = end) {
    const double value = std::strtod(at, &end);
    if (end == at) return values;
    values.push_back(value);
  }
}

// "NAME dtype[shape] values"
Value value_of(const std::string& line) {
  const auto space = line.find(' '), bracket = line.find(']');
  return {line.substr(0, space), line.substr(space + 1, bracket - space), numbers(line.substr(bracket + 1))};
}

std::vector<Case> read(const std::string& path) {
  std::ifstream stream(path);
  std::vector<Case> cases;
  bool in_head = false;  // of a case: its statements
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '>') {
      if (!in_head) cases.emplace_back().line = number;
      cases.back().statements.push_back(line.substr(2));
    } else if (line[0] == '=') {
      cases.back().expected = value_of(line);
    } else if (line[0] == '~') {
      cases.back().rule = line.ends_with("ulp") ? Case::kUlps : Case::kAbsolute;
      cases.back().bounds = numbers(line.substr(1));
    } else {
      cases.back().inputs.push_back(value_of(line));
    }
    in_head = line[0] == '>';
  }
  return cases;
}

using kw::problem::EvaluateOptions;

kw::Result<std::vector<double>> result_of(const Case& c, const EvaluateOptions& options) {
  std::string text = "problem t: \"t\"\ninputs:\n";
  for (const Value& input : c.inputs) text += fmt::format("  {}: {} ~ constant(0)\n", input.name, input.type);
  text += fmt::format("outputs:\n  out: {}\nreference:\n", c.expected.type);
  for (const std::string& statement : c.statements) text += "  " + statement + "\n";
  text += "workloads:\n  smallest s:\n";
  KW_TRY(const Problem problem, kw::problem::parse_problem(text, "case"));
  const auto& workload = problem.workloads.front();
  std::vector<kw::tensor::Tensor> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    KW_TRY(auto shape, kw::problem::shape_of(problem.inputs[i], workload));
    KW_TRY(auto input, kw::tensor::Tensor::from_doubles(problem.inputs[i].dtype, shape, c.inputs[i].elements));
    inputs.push_back(std::move(input));
  }
  KW_TRY(const auto evaluation, kw::problem::evaluate(problem, workload, inputs, options));
  return evaluation.outputs.front().to_doubles();
}

double ulp_of(double value) {
  const double magnitude = std::abs(value);
  return std::nextafter(magnitude, std::numeric_limits<double>::infinity()) - magnitude;
}

bool agree(double got, double want, const Case& c, std::size_t i) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  switch (c.rule) {
    case Case::kSame: return got == want && std::signbit(got) == std::signbit(want);
    case Case::kUlps: return std::abs(got - want) <= c.bounds.front() * ulp_of(want);
    case Case::kAbsolute: return std::abs(got - want) <= c.bounds[i];
  }
  return false;
}

double hostile(kw::Rng& rng, double kept) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double values[] = {std::numeric_limits<double>::quiet_NaN(), inf, -inf, 0, -0.0, -1, 1, 3, 7, 24, 0.5, -2.5, 0x1p31,
                               -0x1p31, 0x1p53, 0x1p63, -0x1p63, 0x1p64, 1e308, -1e308, 5e-324, 65504, 1e-8};
  return rng.below(2) == 0 ? kept : values[rng.below(std::size(values))];
}

// What is wrong with the case on hostile values; empty: nothing. That they are refused, as an index of take may be, is right.
std::string hostile_difference(Case c, kw::Rng& rng) {
  for (Value& input : c.inputs)
    for (double& element : input.elements) element = hostile(rng, element);
  using kw::problem::Precision;
  for (const auto precision : {Precision::kReference, Precision::kHonest, Precision::kDisturbed, Precision::kTruncated}) {
    EvaluateOptions one, many;
    one.precision = many.precision = precision;
    one.threads = 1;
    many.threads = 3;
    const auto first = result_of(c, one), second = result_of(c, many);
    if (first.has_value() != second.has_value()) return "refused with one number of threads only";
    for (std::size_t i = 0; first && i < first->size(); ++i)
      if (std::bit_cast<std::uint64_t>((*first)[i]) != std::bit_cast<std::uint64_t>((*second)[i]))
        return fmt::format("element {} is {} with one thread, {} with three", i, (*first)[i], (*second)[i]);
  }
  return "";
}

// What is wrong; empty: nothing.
std::string difference(const Case& c) {
  EvaluateOptions options;
  options.threads = 1;
  const auto got = result_of(c, options);
  if (!got) return kw::format_error(got.error());
  if (got->size() != c.expected.elements.size())
    return fmt::format("{} elements, expected {}", got->size(), c.expected.elements.size());
  if (c.rule == Case::kAbsolute && c.bounds.size() != got->size()) return "as many bounds as elements are needed";
  for (std::size_t i = 0; i < got->size(); ++i)
    if (!agree((*got)[i], c.expected.elements[i], c, i))
      return fmt::format("element {} is {}, PyTorch gives {}", i, (*got)[i], c.expected.elements[i]);
  return "";
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_hostile = count == 3 && std::string(arguments[1]) == "--hostile";
  if (count != 2 && !is_hostile) return fmt::print(stderr, "usage: kw_operator_cases_test [--hostile] FILE\n"), 2;
  const std::string path = arguments[count - 1];
  const auto cases = read(path);
  if (cases.empty()) return fmt::print(stderr, "{}: no cases\n", path), 2;
  kw::Rng rng(1);
  int failed = 0;
  for (const Case& c : cases) {
    const std::string wrong = is_hostile ? hostile_difference(c, rng) : difference(c);
    if (wrong.empty()) continue;
    ++failed;
    fmt::print("{}:{}: {}\n  {}\n", path, c.line, c.statements.back(), wrong);
  }
  fmt::print("{} cases, {} fail\n", cases.size(), failed);
  return failed > 0 ? 1 : 0;
}
