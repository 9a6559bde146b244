// Sections axes, attributes, python, inputs and outputs of a problem file.
#include <algorithm>
#include <cmath>

#include "problem/parser.h"

namespace kw::problem {
namespace {

constexpr std::size_t kMostProblemAxes = 64;
constexpr std::size_t kMostTensors = 1024;

struct DistributionRule {
  std::string_view name;
  Distribution::Form form;
  int parameters;
  std::string_view signature;
};
constexpr DistributionRule kDistributions[] = {
    {"normal", Distribution::Form::kNormal, 2, "normal(mean, deviation)"},
    {"uniform", Distribution::Form::kUniform, 2, "uniform(low, high)"},
    {"integers", Distribution::Form::kIntegers, 2, "integers(low, high)"},
    {"constant", Distribution::Form::kConstant, 1, "constant(value)"},
    {"one_hot", Distribution::Form::kOneHot, 1, "one_hot(value)"},
    {"sorted", Distribution::Form::kSorted, 2, "sorted(low, high)"},
    {"cancel", Distribution::Form::kCancel, 1, "cancel(deviation)"},
    {"spikes", Distribution::Form::kSpikes, 2, "spikes(deviation, value)"},
};

}  // namespace

// M >= 1, K % 8 == 0      an axis is declared where it is first named
Status Parser::parse_axes_line() {
  do {
    const Token start = cursor_.peek();
    expressions_->declare_axes(true);
    auto left = expressions_->parse_size();
    Constraint constraint;
    if (!left) return stop_declaring(std::move(left).error());
    const Token relation = cursor_.peek();
    const bool compares = relation.text == "==" || relation.text == "!=" || relation.text == "<" ||
                          relation.text == "<=" || relation.text == ">" || relation.text == ">=";
    if (compares) {
      cursor_.next();
      auto right = expressions_->parse_size();
      if (!right) return stop_declaring(std::move(right).error());
      constraint.left = *left;
      constraint.right = *right;
      constraint.relation = std::string(relation.text);
      constraint.text = fmt::format("{} {} {}", left->text(), relation.text, right->text());
      constraint.span = span(start);
      problem_.constraints.push_back(std::move(constraint));
    }
    expressions_->declare_axes(false);
    std::vector<std::string> names;
    left->collect_axes(names);
    if (compares) problem_.constraints.back().right.collect_axes(names);
    if (names.empty())
      return fail(error(start, "expected an axis or a constraint, as in M >= 1 or K % 8 == 0"));
    if (!compares && names.size() != 1)
      return fail(error(relation, "expected a relation: == != < <= > >="));
    for (const std::string& name : names) {
      const bool known = std::any_of(problem_.axes.begin(), problem_.axes.end(),
                                     [&](const Axis& a) { return a.name == name; });
      if (!known) problem_.axes.push_back({name, span(start)});
    }
    if (problem_.axes.size() > kMostProblemAxes || problem_.constraints.size() > 256)
      return fail(error(start, fmt::format("more than {} axes or 256 constraints", kMostProblemAxes)));
  } while (cursor_.accept(","));
  return end_line("a constraint");
}

Status Parser::stop_declaring(Error reason) {
  expressions_->declare_axes(false);
  return fail(std::move(reason));
}

// eps = 1e-6
Status Parser::parse_attribute() {
  KW_TRY(const Token name, new_name("the name of an attribute"));
  KW_TRY_VOID(expressions_->expect("=", "after the name of an attribute"));
  const bool integer = cursor_.peek().form == Token::Form::kInteger;
  const std::int64_t whole = cursor_.peek().integer;
  KW_TRY(const double value, expressions_->parse_signed_number());
  Symbol& symbol = declare(name, Symbol::Form::kAttribute);
  symbol.value = value;
  if (integer) symbol.size = Dim(whole);
  problem_.attributes.push_back({std::string(name.text), value});
  return end_line("an attribute");
}

Status Parser::parse_python() {
  const Token block = cursor_.next();
  KW_TRY(problem_.graph.python, read_python_section(block.text, block.line, text_, problem_.file));
  return end_line("section python");
}

Result<DType> Parser::parse_dtype() {
  KW_TRY(const Token token, expect_name("a dtype, as in f16[M, K]"));
  if (const auto dtype = tensor::dtype_named(token.text)) return *dtype;
  std::vector<std::string> known;
  for (int i = 0; i < tensor::kDTypes; ++i) known.emplace_back(tensor::name_of(static_cast<DType>(i)));
  return fail(expressions_->unknown(token, "dtype", known));
}

// NAME: DTYPE[SIZES]
Result<TensorDecl> Parser::parse_tensor_declaration(std::string_view what, Token& name) {
  KW_TRY(name, new_name(what));
  TensorDecl declaration;
  declaration.name = std::string(name.text);
  declaration.span = span(name);
  declare(name, Symbol::Form::kFailed);  // until it is whole: no second error for each use
  KW_TRY_VOID(expressions_->expect(":", "after the name of a tensor"));
  KW_TRY(declaration.dtype, parse_dtype());
  KW_TRY(declaration.shape, expressions_->parse_shape());
  if (problem_.inputs.size() + problem_.outputs.size() >= kMostTensors)
    return fail(error(name, fmt::format("more than {} inputs and outputs", kMostTensors)));
  return declaration;
}

Status Parser::parse_input() {
  Token name;
  KW_TRY(TensorDecl declaration, parse_tensor_declaration("the name of an input", name));
  if (cursor_.accept("~")) {
    KW_TRY(declaration.distribution, parse_distribution());
  } else if (kind_of(declaration.dtype) != Kind::kReal) {
    return fail(
        error(cursor_.peek(), "an integer or boolean input needs a distribution, as in ~ integers(0, N)"));
  }
  builder_.set_span(declaration.span);
  const auto made = builder_.input(static_cast<std::int32_t>(problem_.inputs.size()), declaration.dtype,
                                   declaration.shape);
  if (!made) return fail(error(name, made.error().message));
  declaration.node = *made;
  declare(name, Symbol::Form::kInput).node = declaration.node;
  problem_.inputs.push_back(std::move(declaration));
  return end_line("an input");
}

Result<Distribution> Parser::parse_distribution() {
  KW_TRY(const Token name, expect_name("a distribution, as in normal(0, 1)"));
  std::vector<std::string> known;
  const DistributionRule* rule = nullptr;
  for (const DistributionRule& candidate : kDistributions) {
    known.emplace_back(candidate.name);
    if (candidate.name == name.text) rule = &candidate;
  }
  if (rule == nullptr) return fail(expressions_->unknown(name, "distribution", known));
  Distribution distribution;
  distribution.form = rule->form;
  double values[2] = {0, 0};
  int count = 0;
  KW_TRY_VOID(expressions_->expect("(", "after the name of a distribution"));
  while (!cursor_.accept(")")) {
    if (count > 0) KW_TRY_VOID(expressions_->expect(",", "or ')' in a distribution"));
    if (rule->form == Distribution::Form::kIntegers && count == 1) {
      KW_TRY(Dim high, expressions_->parse_size());
      if (const auto constant = high.constant()) {
        values[1] = static_cast<double>(*constant);
      } else {
        distribution.high = std::move(high);
      }
      ++count;
      continue;
    }
    KW_TRY(const double value, expressions_->parse_signed_number());
    if (count == rule->parameters) {
      ++count;
      break;
    }
    values[count++] = value;
  }
  if (count != rule->parameters) return fail(error(name, fmt::format("write {}", rule->signature)));
  distribution.a = values[0];
  distribution.b = values[1];
  const bool range = rule->form == Distribution::Form::kUniform ||
                     rule->form == Distribution::Form::kIntegers ||
                     rule->form == Distribution::Form::kSorted;
  if (distribution.high) distribution.b = distribution.a;  // until the axes are known
  if (range && !(distribution.a <= distribution.b && std::abs(distribution.a) < 1e15 &&
                 std::abs(distribution.b) < 1e15))
    return fail(
        error(name, fmt::format("{}: low must not be above high, both below 1e15", rule->signature)));
  const bool normal = rule->form == Distribution::Form::kNormal;
  const bool spreads = normal || rule->form == Distribution::Form::kSpikes || rule->form == Distribution::Form::kCancel;
  const double mean = normal ? distribution.a : 0, deviation = normal ? distribution.b : distribution.a;
  if (spreads && !(deviation >= 0 && deviation < 1e15 && std::abs(mean) < 1e15))
    return fail(error(name, fmt::format("{}: a deviation must not be negative, and it and the mean lie below 1e15", rule->signature)));
  return distribution;
}

Status Parser::parse_output() {
  Token name;
  KW_TRY(TensorDecl declaration, parse_tensor_declaration("the name of an output", name));
  declare(name, Symbol::Form::kOutput);
  problem_.outputs.push_back(std::move(declaration));
  return end_line("an output");
}

}  // namespace kw::problem
