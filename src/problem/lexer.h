// Tokens of a problem file. A line ends an item unless a bracket is open, the line ends in a comma, or the
// next line starts with a string (a note under its workload). `#` starts a comment. Tabs count as one column.
// The lines below `python:` are not read here: they are one token, up to the next line that starts at column 1.
// Errors: a character or number that no token starts with, an unclosed string, text over 1 MiB or not UTF-8
// text (NUL). Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::problem {

inline constexpr std::size_t kLongestText = std::size_t{1} << 20;

struct Token {
  enum class Form { kName, kInteger, kNumber, kString, kSymbol, kPython, kNewline, kEnd };
  Form form = Form::kEnd;
  std::string_view text;     // into the source; of a string: without its quotes
  std::int64_t integer = 0;  // kInteger, at most 2^62
  double number = 0;         // kInteger and kNumber
  int line = 1;
  int column = 1;
  int length() const {
    if (form == Form::kPython) return 1;
    return static_cast<int>(text.size()) + (form == Form::kString ? 2 : 0);
  }
};

// Always ends with kEnd. On error the tokens before it are kept, so that earlier errors can be reported too.
struct TokenList {
  std::vector<Token> tokens;
  std::vector<Error> errors;
};
TokenList tokenize(std::string_view text, const std::string& file);

Error error_at(std::string_view text, const std::string& file, const Token& token, std::string message);

}  // namespace kw::problem
