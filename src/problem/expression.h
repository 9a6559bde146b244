// Expressions of a problem file: parsed, typed and turned into graph nodes in one pass.
//
// A value is a size (an integer expression over axes, known before any tensor is) or a node. A size becomes
// a node where a tensor is wanted. Errors carry span and source line; an error with an empty message stands
// for one that was already reported (a name whose own statement failed) and must be dropped by the caller.
// One thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "problem/graph_builder.h"
#include "problem/lexer.h"

namespace kw::problem {

inline constexpr int kDeepest = 200;  // nesting of brackets and signs

struct Symbol {
  enum class Form { kAxis, kAttribute, kInput, kOutput, kName, kFailed };
  Form form = Form::kName;
  std::optional<Dim> size;  // axes and integer attributes
  double value = 0;         // other attributes
  NodeId node = -1;         // tensors; an output has none until it is assigned
  int line = 0;
  bool used = false;
};
using Scope = std::map<std::string, Symbol, std::less<>>;
std::string_view form_name(Symbol::Form form);  // "an axis"

struct Cursor {
  std::vector<Token> tokens;
  std::size_t at = 0;
  const Token& peek(std::size_t ahead = 0) const { return tokens[std::min(at + ahead, tokens.size() - 1)]; }
  const Token& next() {
    const Token& token = peek();
    if (at + 1 < tokens.size()) ++at;
    return token;
  }
  bool is(std::string_view symbol) const {
    return peek().form == Token::Form::kSymbol && peek().text == symbol;
  }
  bool accept(std::string_view symbol) {
    if (!is(symbol)) return false;
    next();
    return true;
  }
};

// What a token is called in a message: "'+'", "the end of the line".
std::string token_text(const Token& token);

struct Value {
  std::optional<Dim> size;
  NodeId node = -1;
};

// One argument of a call as written.
struct Argument {
  Token token;
  std::string keyword;  // empty: by position
  std::optional<Value> value;
  std::optional<std::vector<Value>> list;  // [a, b]
  std::optional<bool> flag;                // true, false
  std::optional<DType> dtype;
  std::optional<std::int32_t> function;  // index into the functions of section python
};  // a string is its token alone

class ExpressionParser {
 public:
  ExpressionParser(Cursor& cursor, Scope& scope, GraphBuilder& builder, std::string_view text,
                   const std::string& file)
      : cursor_(cursor), scope_(scope), builder_(builder), text_(text), file_(file) {}

  Result<NodeId> parse_tensor();
  Result<Dim> parse_size();
  Result<SymbolicShape> parse_shape();  // "[" sizes "]"
  Result<double> parse_signed_number();
  // In the axes section a name that is not known is an axis, declared here.
  void declare_axes(bool on) { declaring_axes_ = on; }

  Status expect(std::string_view symbol, std::string_view where);
  Error error(const Token& token, std::string message) const {
    return error_at(text_, file_, token, std::move(message));
  }
  Error unknown(const Token& token, std::string_view what, const std::vector<std::string>& known) const;
  Result<NodeId> node_of(const Value& value, const Token& token);

 private:
  Result<Value> parse(int lowest);
  Result<Value> parse_operand();
  Result<Value> parse_primary();
  Result<Value> parse_name();
  Result<Value> parse_call();
  Result<Value> parse_index(Value value);
  Result<Argument> parse_argument();
  Result<Argument> parse_python_function();
  Result<Value> combine(const Token& sign, const Value& left, const Value& right);
  Result<Value> place(Result<NodeId> made, const Token& token) const;
  void point(const Token& token);

  Cursor& cursor_;
  Scope& scope_;
  GraphBuilder& builder_;
  std::string_view text_;
  const std::string& file_;
  int depth_ = 0;
  bool declaring_axes_ = false;
};

// functions.cc: calls by name. Errors have no place when they are about the call as a whole.
std::vector<std::string> function_names();
Result<NodeId> call_function(std::string_view name, const std::vector<Argument>& arguments,
                             GraphBuilder& builder, ExpressionParser& parser);

}  // namespace kw::problem
