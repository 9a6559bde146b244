#include "problem/expression.h"

#include <algorithm>
#include <limits>

#include "base/near_miss.h"
#include "problem/function_call.h"

namespace kw::problem {
namespace {

struct Binary {
  std::string_view text;
  int level;
  Op op;
};
constexpr int kNotLevel = 3, kCompareLevel = 4, kSignLevel = 7, kPowerLevel = 8;
constexpr Binary kBinaries[] = {
    {"or", 1, Op::kOr},          {"and", 2, Op::kAnd},         {"==", 4, Op::kEqual},
    {"!=", 4, Op::kNotEqual},    {"<", 4, Op::kLess},          {"<=", 4, Op::kLessEqual},
    {">", 4, Op::kGreater},      {">=", 4, Op::kGreaterEqual}, {"+", 5, Op::kAdd},
    {"-", 5, Op::kSubtract},     {"*", 6, Op::kMultiply},      {"/", 6, Op::kDivide},
    {"//", 6, Op::kFloorDivide}, {"%", 6, Op::kRemainder},     {"@", 6, Op::kMatmul},
    {"**", 8, Op::kPower},
};

const Binary* binary_of(const Token& token) {
  if (token.form != Token::Form::kSymbol && token.form != Token::Form::kName) return nullptr;
  for (const Binary& binary : kBinaries)
    if (binary.text == token.text) return &binary;
  return nullptr;
}

bool is_reserved(std::string_view name) {
  return name == "and" || name == "or" || name == "not" || name == "true" || name == "false" ||
         name == "True" || name == "False" || name == "None" || name == "inf" || name == "nan";
}

struct DepthGuard {
  int& depth;
  explicit DepthGuard(int& d) : depth(++d) {}
  ~DepthGuard() { --depth; }
};

}  // namespace

std::string_view form_name(Symbol::Form form) {
  switch (form) {
    case Symbol::Form::kAxis: return "an axis";
    case Symbol::Form::kAttribute: return "an attribute";
    case Symbol::Form::kInput: return "an input";
    case Symbol::Form::kOutput: return "an output";
    case Symbol::Form::kName: return "a named value";
    case Symbol::Form::kFailed: return "a name";
  }
  return "";
}

std::string token_text(const Token& token) {
  switch (token.form) {
    case Token::Form::kNewline: return "the end of the line";
    case Token::Form::kEnd: return "the end of the file";
    case Token::Form::kString: return "a string";
    default: return fmt::format("'{}'", token.text.substr(0, 40));
  }
}

Status ExpressionParser::expect(std::string_view symbol, std::string_view where) {
  if (cursor_.accept(symbol)) return {};
  return fail(error(cursor_.peek(),
                    fmt::format("expected '{}' {}, found {}", symbol, where, token_text(cursor_.peek()))));
}

Error ExpressionParser::unknown(const Token& token, std::string_view what,
                                const std::vector<std::string>& known) const {
  Error made = error(token, fmt::format("unknown {} '{}'", what, token.text.substr(0, 40)));
  const std::string hint = nearest(token.text, known);
  if (!hint.empty()) made.notes.push_back(fmt::format("did you mean '{}'?", hint));
  return made;
}

void ExpressionParser::point(const Token& token) {
  builder_.set_span(Span{file_, token.line, token.column, token.length()});
}

Result<Value> ExpressionParser::place(Result<NodeId> made, const Token& token) const {
  if (made) return Value{std::nullopt, *made};
  Error failed = std::move(made).error();
  if (!failed.span && !failed.message.empty()) {
    Error placed = error(token, failed.message);
    placed.code = failed.code;
    placed.notes = std::move(failed.notes);
    return fail(std::move(placed));
  }
  return fail(std::move(failed));
}

Result<NodeId> ExpressionParser::node_of(const Value& value, const Token& token) {
  if (!value.size) return value.node;
  const Span before = builder_.span();  // what a call makes of its arguments is at the call
  point(token);
  KW_TRY(const Value made, place(builder_.size(*value.size), token));
  builder_.set_span(before);
  return made.node;
}

Result<NodeId> ExpressionParser::parse_tensor() {
  const Token start = cursor_.peek();
  KW_TRY(const Value value, parse(0));
  return node_of(value, start);
}

Result<Dim> ExpressionParser::parse_size() {
  const Token start = cursor_.peek();
  KW_TRY(const Value value, parse(kCompareLevel + 1));
  if (!value.size) return fail(error(start, "expected a size: axes and integers joined by + - * // %"));
  return *value.size;
}

Result<SymbolicShape> ExpressionParser::parse_shape() {
  KW_TRY_VOID(expect("[", "before the sizes of a tensor"));
  SymbolicShape shape;
  while (!cursor_.accept("]")) {
    if (!shape.empty()) {
      KW_TRY_VOID(expect(",", "or ']' after a size"));
    }
    if (shape.size() == kMostAxes)
      return fail(error(cursor_.peek(), fmt::format("a tensor has at most {} axes", kMostAxes)));
    KW_TRY(Dim size, parse_size());
    shape.push_back(std::move(size));
  }
  return shape;
}

Result<double> ExpressionParser::parse_signed_number() {
  const double sign = cursor_.accept("-") ? -1 : 1;
  const Token token = cursor_.next();
  if (token.form == Token::Form::kInteger || token.form == Token::Form::kNumber) return sign * token.number;
  if (token.text == "inf") return sign * std::numeric_limits<double>::infinity();
  if (token.text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return fail(error(token, fmt::format("expected a number, found {}", token_text(token))));
}

Result<Value> ExpressionParser::parse(int lowest) {
  const DepthGuard guard(depth_);
  if (depth_ > kDeepest) {
    Error deep =
        error(cursor_.peek(), fmt::format("the expression nests deeper than {}; name its parts", kDeepest));
    deep.code = ErrorCode::kLimit;
    return fail(std::move(deep));
  }
  KW_TRY(Value left, parse_operand());
  bool compared = false;
  while (true) {
    const Token sign = cursor_.peek();
    const Binary* binary = binary_of(sign);
    if (binary == nullptr || binary->level < lowest) return left;
    if (binary->level == kCompareLevel) {
      if (compared) return fail(error(sign, "comparisons do not chain; write a < b and b < c"));
      compared = true;
    }
    cursor_.next();
    // Left to right, but for ** whose right side binds like itself.
    KW_TRY(const Value right, parse(binary->level == kPowerLevel ? kSignLevel : binary->level + 1));
    KW_TRY(left, combine(sign, left, right));
  }
}

Result<Value> ExpressionParser::combine(const Token& sign, const Value& left, const Value& right) {
  const Op op = binary_of(sign)->op;
  if (left.size && right.size) {
    Result<Dim> size = Dim(0);
    bool is_size = true;
    if (op == Op::kAdd)
      size = Dim::add(*left.size, *right.size);
    else if (op == Op::kSubtract)
      size = Dim::subtract(*left.size, *right.size);
    else if (op == Op::kMultiply)
      size = Dim::multiply(*left.size, *right.size);
    else if (op == Op::kFloorDivide)
      size = Dim::floor_divide(*left.size, *right.size);
    else if (op == Op::kRemainder)
      size = Dim::remainder(*left.size, *right.size);
    else
      is_size = false;
    if (is_size) {
      if (!size) {
        Error failed = error(sign, size.error().message);
        failed.code = size.error().code;
        return fail(std::move(failed));
      }
      return Value{*size, -1};
    }
  }
  KW_TRY(const NodeId a, node_of(left, sign));
  KW_TRY(const NodeId b, node_of(right, sign));
  point(sign);
  return place(builder_.binary(op, a, b), sign);
}

Result<Value> ExpressionParser::parse_operand() {
  const Token sign = cursor_.peek();
  if (sign.form == Token::Form::kName && sign.text == "not") {
    cursor_.next();
    KW_TRY(const Value value, parse(kNotLevel + 1));
    KW_TRY(const NodeId operand, node_of(value, sign));
    point(sign);
    return place(builder_.unary(Op::kNot, operand), sign);
  }
  if (cursor_.accept("+")) return parse(kSignLevel);
  if (cursor_.accept("-")) {
    KW_TRY(const Value value, parse(kSignLevel));
    if (value.size) {
      auto negative = Dim::subtract(Dim(0), *value.size);
      if (!negative) return fail(error(sign, negative.error().message));
      return Value{*negative, -1};
    }
    point(sign);
    return place(builder_.unary(Op::kNegate, value.node), sign);
  }
  KW_TRY(Value value, parse_primary());
  while (cursor_.is("[")) {
    KW_TRY(value, parse_index(std::move(value)));
  }
  return value;
}

Result<Value> ExpressionParser::parse_primary() {
  const Token token = cursor_.peek();
  if (token.form == Token::Form::kName) return parse_name();
  cursor_.next();
  if (token.form == Token::Form::kInteger) return Value{Dim(token.integer), -1};
  point(token);
  if (token.form == Token::Form::kNumber) return place(builder_.constant(token.number), token);
  if (token.text == "(" && token.form == Token::Form::kSymbol) {
    KW_TRY(Value value, parse(0));
    KW_TRY_VOID(expect(")", "to close the bracket"));
    return value;
  }
  return fail(error(token, fmt::format("expected a name, a number or '(', found {}", token_text(token))));
}

Result<Value> ExpressionParser::parse_name() {
  if (cursor_.peek(1).text == "(" && cursor_.peek(1).form == Token::Form::kSymbol) return parse_call();
  const Token token = cursor_.next();
  point(token);
  if (token.text == "inf") return place(builder_.constant(std::numeric_limits<double>::infinity()), token);
  if (token.text == "nan") return place(builder_.constant(std::numeric_limits<double>::quiet_NaN()), token);
  auto found = scope_.find(token.text);
  if (found == scope_.end() && declaring_axes_ && !is_reserved(token.text)) {
    Symbol axis;
    axis.form = Symbol::Form::kAxis;
    axis.size = Dim::axis(std::string(token.text));
    axis.line = token.line;
    found = scope_.emplace(std::string(token.text), std::move(axis)).first;
  }
  if (found == scope_.end()) {
    std::vector<std::string> known;
    for (const auto& [name, symbol] : scope_) known.push_back(name);
    const auto functions = function_names();
    Error made = unknown(token, declaring_axes_ ? "axis" : "name", known);
    if (std::find(functions.begin(), functions.end(), token.text) != functions.end())
      made.notes = {fmt::format("{} is a function; call it, as in {}(x)", token.text, token.text)};
    return fail(std::move(made));
  }
  Symbol& symbol = found->second;
  symbol.used = true;
  if (symbol.form == Symbol::Form::kFailed) return fail(Error{});
  if (symbol.size) return Value{symbol.size, -1};
  if (symbol.form == Symbol::Form::kAttribute) return place(builder_.constant(symbol.value), token);
  if (symbol.node < 0)
    return fail(error(
        token, fmt::format("output '{}' is read before it is assigned; move its statement up", token.text)));
  return Value{std::nullopt, symbol.node};
}

Result<Argument> ExpressionParser::parse_argument() {
  Argument argument;
  if (cursor_.peek().form == Token::Form::kName && cursor_.peek(1).text == "=") {
    argument.keyword = std::string(cursor_.next().text);
    cursor_.next();
  }
  argument.token = cursor_.peek();
  const std::string_view text = argument.token.text;
  if (argument.token.form == Token::Form::kString) {
    cursor_.next();
    return argument;
  }
  if (argument.token.form == Token::Form::kName && cursor_.peek(1).text != "(" &&
      scope_.find(text) == scope_.end()) {
    if (text == "true" || text == "True" || text == "false" || text == "False") {
      argument.flag = text == "true" || text == "True";
      cursor_.next();
      return argument;
    }
    if (const auto dtype = tensor::dtype_named(text)) {
      argument.dtype = *dtype;
      cursor_.next();
      return argument;
    }
  }
  if (cursor_.accept("[")) {
    argument.list.emplace();
    while (!cursor_.accept("]")) {
      if (!argument.list->empty()) {
        KW_TRY_VOID(expect(",", "or ']' in a list"));
      }
      if (argument.list->size() > 64) return fail(error(cursor_.peek(), "a list has at most 64 items"));
      KW_TRY(Value item, parse(0));
      argument.list->push_back(std::move(item));
    }
    return argument;
  }
  KW_TRY(argument.value, parse(0));
  return argument;
}

// The first argument of python(…): a name that means nothing elsewhere.
Result<Argument> ExpressionParser::parse_python_function() {
  Argument argument;
  argument.token = cursor_.next();
  const std::vector<std::string>& known = builder_.python_section().functions;
  if (argument.token.form != Token::Form::kName)
    return fail(error(argument.token, fmt::format("expected a function of section python, found {}",
                                                  token_text(argument.token))));
  const auto found = std::find(known.begin(), known.end(), argument.token.text);
  if (found == known.end()) {
    Error made = unknown(argument.token, "Python function", known);
    if (known.empty()) made.notes = {"define it in a section python:, before inputs:"};
    return fail(std::move(made));
  }
  argument.function = static_cast<std::int32_t>(found - known.begin());
  return argument;
}

Result<Value> ExpressionParser::parse_call() {
  const Token name = cursor_.next();
  cursor_.next();
  const auto known = function_names();
  if (std::find(known.begin(), known.end(), name.text) == known.end()) {
    if (scope_.find(name.text) != scope_.end())
      return fail(error(name, fmt::format("'{}' is {}, not a function; write * to multiply", name.text,
                                          form_name(scope_.find(name.text)->second.form))));
    return fail(unknown(name, "function", known));
  }
  std::vector<Argument> arguments;
  if (name.text == "python" && !cursor_.is(")")) {
    KW_TRY(Argument function, parse_python_function());
    arguments.push_back(std::move(function));
  }
  while (!cursor_.accept(")")) {
    if (!arguments.empty()) {
      KW_TRY_VOID(expect(",", "or ')' after an argument"));
    }
    if (arguments.size() >= kMostArguments)
      return fail(error(cursor_.peek(), fmt::format("a call has at most {} arguments", kMostArguments)));
    KW_TRY(Argument argument, parse_argument());
    arguments.push_back(std::move(argument));
  }
  point(name);
  return place(call_function(name.text, arguments, builder_, *this), name);
}

}  // namespace kw::problem
