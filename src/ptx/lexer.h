// Cursor over PTX text: one token at a time, with places. Internal to the parser.
// The text must stay alive and end with a NUL (std::string does). Tokens are views into it; no token is
// ever copied. Lexical rules: PTX ISA section 4.3 (identifiers), 4.5 (constants).
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/module.h"

namespace kw::ptx {

enum class TokenKind : uint8_t {
  kEnd,
  kIdentifier,  // names, with %, $ and _; opcodes too, without their modifiers
  kDirective,   // .reg, .b32, .global: the dot and the name, colons of .shared::cta included
  kInteger,     // bits
  kFloat32,     // 0f….; bits of the float
  kFloat64,     // 0d…. and decimal; bits of the double
  kString,      // text with the quotes
  kPunctuation, // one character, or one of << >> <= >= == != && ||
  kBad,         // `problem` says why
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool is_unsigned = false;   // integer written with U, or too large for 64 signed bits
  char punctuation = 0;       // first character of a kPunctuation token
  uint32_t line = 1, column = 1;
  std::string_view text;
  uint64_t bits = 0;
  const char* problem = nullptr;  // what is wrong
  const char* remedy = nullptr;   // what was expected
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : at_(text.data()), line_start_(text.data()),
                                          end_(text.data() + text.size()) { next(); }

  const Token& token() const { return token_; }
  void next();                     // advances to the next token

  // With the current token an opcode or a name: the characters that follow it directly.
  const char* position() const { return at_; }
  char peek() const { return *at_; }
  char peek_after_space();         // skips white space and comments; the token stays current

  // Reads ".name" (with any "::name") at the position, white space before it allowed; false when there
  // is none. Used for modifiers, whose names may begin with a digit (.1d, .16x256b).
  bool read_modifier(std::string_view& name);
  // Reads ".x"-like element selectors directly after a name; false when there is none.
  bool read_element(std::string_view& name);

  Place place() const { return {token_.line, token_.column}; }
  const char* token_end() const { return token_.text.data() + token_.text.size(); }
  // Moves to just after the '}' that matches the '{' the cursor has passed; false at the end of the text.
  bool skip_section();

 private:
  bool skip_space();               // false: an unterminated comment
  void lex_number();
  void lex_decimal_float();
  void bad(const char* problem, const char* remedy, size_t length);
  bool at_end() const { return at_ >= end_; }

  const char* at_;
  const char* line_start_;
  const char* end_;
  uint32_t line_ = 1;
  Token token_;
};

bool is_name_char(char c);    // letters, digits, _, $
bool is_name_start(char c);   // letters, _, $, %

}  // namespace kw::ptx
