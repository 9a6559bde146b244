// Constant expressions: PTX ISA 4.5. Integers are 64 bits, signed unless written with U or too large;
// the usual C precedences and arithmetic conversions apply; floats know + - * / and comparisons.
#include <cmath>
#include <cstring>

#include "ptx/parse_state.h"

namespace kw::ptx {
namespace {

double as_double(const Constant& c) {
  if (c.is_float32) {
    float value;
    const uint32_t bits = static_cast<uint32_t>(c.bits);
    std::memcpy(&value, &bits, sizeof value);
    return static_cast<double>(value);
  }
  if (c.is_float) {
    double value;
    std::memcpy(&value, &c.bits, sizeof value);
    return value;
  }
  return c.is_unsigned ? static_cast<double>(c.bits) : static_cast<double>(static_cast<int64_t>(c.bits));
}

Constant from_double(double value) {
  Constant c;
  c.is_float = true;
  std::memcpy(&c.bits, &value, sizeof value);
  return c;
}

Constant from_integer(uint64_t bits, bool is_unsigned) {
  Constant c;
  c.bits = bits;
  c.is_unsigned = is_unsigned;
  return c;
}

bool is_true(const Constant& c) { return c.is_float ? as_double(c) != 0 : c.bits != 0; }

int precedence_of(const Token& token) {
  if (token.kind != TokenKind::kPunctuation) return 0;
  const std::string_view t = token.text;
  if (t == "*" || t == "/" || t == "%") return 10;
  if (t == "+" || t == "-") return 9;
  if (t == "<<" || t == ">>") return 8;
  if (t == "<" || t == ">" || t == "<=" || t == ">=") return 7;
  if (t == "==" || t == "!=") return 6;
  if (t == "&") return 5;
  if (t == "^") return 4;
  if (t == "|") return 3;
  if (t == "&&") return 2;
  if (t == "||") return 1;
  return 0;
}

}  // namespace

bool Parser::enter() {
  if (++nesting_ <= kMaxNesting) return true;
  return limit("levels of nested scopes, lists and parentheses", kMaxNesting);
}

bool Parser::conditional(Constant& value) {
  if (!binary(value, 1)) return false;
  if (!at('?')) return true;
  if (!enter()) return false;
  advance();
  Constant yes, no;
  if (!conditional(yes) || !expect(':', "between the two values of '?'") || !conditional(no)) return false;
  leave();
  value = is_true(value) ? yes : no;
  return true;
}

bool Parser::binary(Constant& value, int precedence) {
  if (!unary(value)) return false;
  for (;;) {
    const int own = precedence_of(lexer_.token());
    if (own == 0 || own < precedence) return true;
    const std::string_view op = lexer_.token().text;
    const Place place = lexer_.place();
    advance();
    Constant right;
    if (!enter() || !binary(right, own + 1)) return false;
    leave();
    if (!apply(op, value, right, place)) return false;
  }
}

bool Parser::unary(Constant& value) {
  const Token& token = lexer_.token();
  switch (token.kind) {
    case TokenKind::kInteger:
      value = from_integer(token.bits, token.is_unsigned);
      advance();
      return true;
    case TokenKind::kFloat32:
    case TokenKind::kFloat64:
      value = from_integer(token.bits, false);
      value.is_float = true;
      value.is_float32 = token.kind == TokenKind::kFloat32;
      advance();
      return true;
    case TokenKind::kIdentifier:
      if (token.text != "WARP_SZ") return expected("a constant");
      value = from_integer(32, false);
      advance();
      return true;
    case TokenKind::kPunctuation: break;
    default: return expected("a constant");
  }
  const char op = token.text.size() == 1 ? token.punctuation : '\0';
  if (op == '(') {
    if (!enter()) return false;
    advance();
    if (at_directive(".s64") || at_directive(".u64")) {
      const bool to_unsigned = at_directive(".u64");
      advance();
      if (!expect(')', "after the type of a cast") || !unary(value)) return false;
      if (value.is_float) return error_here("a cast of a float", "casts (.s64) and (.u64) take integers");
      value.is_unsigned = to_unsigned;
    } else if (!conditional(value) || !expect(')', "to close the parenthesis of a constant expression")) {
      return false;
    }
    leave();
    return true;
  }
  if (op != '-' && op != '+' && op != '!' && op != '~') return expected("a constant");
  const Place place = lexer_.place();
  if (!enter()) return false;
  advance();
  if (!unary(value)) return false;
  leave();
  if (op == '+') return true;
  if (op == '!') {
    value = from_integer(is_true(value) ? 0 : 1, false);
  } else if (value.is_float) {
    if (op == '~') return error_at(place, 1, "'~' of a float", "'~' takes an integer");
    if (value.is_float32) value.bits ^= 0x8000'0000u;  // stays a 32-bit literal
    else value = from_double(-as_double(value));
  } else {
    value.bits = op == '-' ? 0 - value.bits : ~value.bits;
  }
  return true;
}

bool Parser::apply(std::string_view op, Constant& left, const Constant& right, Place place) {
  const auto boolean = [&](bool value) {
    left = from_integer(value ? 1 : 0, false);
    return true;
  };
  if (op == "&&") return boolean(is_true(left) && is_true(right));
  if (op == "||") return boolean(is_true(left) || is_true(right));
  if (left.is_float || right.is_float) {
    const double a = as_double(left), b = as_double(right);
    if (op == "<") return boolean(a < b);
    if (op == ">") return boolean(a > b);
    if (op == "<=") return boolean(a <= b);
    if (op == ">=") return boolean(a >= b);
    if (op == "==") return boolean(a == b);
    if (op == "!=") return boolean(a != b);
    double value = 0;
    if (op == "+") value = a + b;
    else if (op == "-") value = a - b;
    else if (op == "*") value = a * b;
    else if (op == "/") {
      if (b == 0) return error_at(place, op.size(), "division by zero in a constant expression", "write the value it stands for as a 0d literal");
      value = a / b;
    } else {
      return error_at(place, op.size(), fmt::format("'{}' of floats in a constant expression", op), "floats know + - * / and comparisons");
    }
    left = from_double(value);
    return true;
  }
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  const uint64_t a = left.bits, b = right.bits;
  const int64_t sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  uint64_t value = 0;
  if (op == "+") value = a + b;
  else if (op == "-") value = a - b;
  else if (op == "*") value = a * b;
  else if (op == "/" || op == "%") {
    if (b == 0) return error_at(place, op.size(), "division by zero in a constant expression", "the divisor must not be 0");
    if (is_unsigned) value = op == "/" ? a / b : a % b;
    else if (sb == -1) value = op == "/" ? 0 - a : 0;  // INT64_MIN / -1 wraps
    else value = static_cast<uint64_t>(op == "/" ? sa / sb : sa % sb);
  } else if (op == "<<" || op == ">>") {
    if (op == "<<") value = b > 63 ? 0 : a << b;
    else if (left.is_unsigned) value = b > 63 ? 0 : a >> b;
    else value = static_cast<uint64_t>(sa >> (b > 63 ? 63 : b));
    left = from_integer(value, left.is_unsigned);  // a shift has the type of its left side
    return true;
  }
  else if (op == "<") return boolean(is_unsigned ? a < b : sa < sb);
  else if (op == ">") return boolean(is_unsigned ? a > b : sa > sb);
  else if (op == "<=") return boolean(is_unsigned ? a <= b : sa <= sb);
  else if (op == ">=") return boolean(is_unsigned ? a >= b : sa >= sb);
  else if (op == "==") return boolean(a == b);
  else if (op == "!=") return boolean(a != b);
  else if (op == "&") value = a & b;
  else if (op == "^") value = a ^ b;
  else value = a | b;
  left = from_integer(value, is_unsigned);
  return true;
}

}  // namespace kw::ptx
