#include "problem/lexer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace kw::problem {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  TokenList run() {
    if (text_.size() > kLongestText) {
      Token start;
      report(start, "the text is longer than 1 MiB; a problem file is a page", ErrorCode::kLimit);
      text_ = {};
    }
    if (text_.starts_with("\xef\xbb\xbf") || text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff"))
      report(make(Token::Form::kSymbol, 0, 0), "the text starts with a byte order mark; save it as UTF-8 without one");
    while (list_.errors.empty() && at_ < text_.size()) step();
    Token end = make(Token::Form::kNewline, at_, at_);
    if (!list_.tokens.empty() && list_.tokens.back().form != Token::Form::kNewline)
      list_.tokens.push_back(end);
    end.form = Token::Form::kEnd;
    list_.tokens.push_back(end);
    return std::move(list_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\n') return newline();
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '"') {
      string();
    } else if (starts_name(c)) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && (starts_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
      list_.tokens.push_back(make(Token::Form::kName, begin, at_));
      before_python_ = depth_ == 0 && begin == line_start_ && list_.tokens.back().text == "python";
    } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
      number();
    } else {
      symbol();
    }
  }

  void newline() {
    if (depth_ == 0 && !list_.tokens.empty() && list_.tokens.back().form != Token::Form::kNewline &&
        list_.tokens.back().text != ",")
      list_.tokens.push_back(make(Token::Form::kNewline, at_, at_));
    next_line();
    if (before_python_) python();
    before_python_ = false;
  }

  void next_line() {
    ++at_;
    ++line_;
    line_start_ = at_;
  }

  void python() {
    const std::size_t begin = at_;
    Token token = make(Token::Form::kPython, begin, begin);
    token.column = 2;  // it is indented
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const bool indented = text_[at_] == ' ' || text_[at_] == '\t';
      const bool blank = text_.find_first_not_of(" \t\r", at_) >= end;
      if (!indented && !blank) break;
      at_ = end;
      if (at_ < text_.size()) next_line();
    }
    token.text = text_.substr(begin, at_ - begin);
    if (token.text.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
    list_.tokens.push_back(token);
    list_.tokens.push_back(make(Token::Form::kNewline, at_, at_));
  }

  void string() {
    const std::size_t begin = at_;
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') ++end;
    Token token = make(Token::Form::kString, begin + 1, end);
    token.column -= 1;
    if (end == text_.size() || text_[end] != '"') {
      report(token, "this string has no closing quote on its line; end it with \"");
      return;
    }
    // A string that starts a line belongs to the item above.
    if (!list_.tokens.empty() && list_.tokens.back().form == Token::Form::kNewline) list_.tokens.pop_back();
    list_.tokens.push_back(token);
    at_ = end + 1;
  }

  void number() {
    const std::size_t begin = at_;
    std::string digits;
    bool real = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool exponent_sign =
          (c == '+' || c == '-') && !digits.empty() && (digits.back() == 'e' || digits.back() == 'E');
      if (is_digit(c))
        digits += c;
      else if (c == '.' || c == 'e' || c == 'E' || exponent_sign) {
        digits += c;
        real = true;
      } else if (c != '_')
        break;
      ++at_;
    }
    Token token = make(real ? Token::Form::kNumber : Token::Form::kInteger, begin, at_);
    const char* end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, token.number);
    if (read.ec != std::errc() || read.ptr != end || (at_ < text_.size() && starts_name(text_[at_]))) {
      report(token, "this is not a number; write 8, 0.5 or 1e-6");
      return;
    }
    if (!real) {
      const auto whole = std::from_chars(digits.data(), end, token.integer);
      if (whole.ec != std::errc() || token.integer > (std::int64_t{1} << 62)) {
        report(token, "this integer is larger than 2^62; choose a smaller one", ErrorCode::kLimit);
        return;
      }
    }
    list_.tokens.push_back(token);
  }

  void symbol() {
    for (const std::string_view pair : {"==", "!=", "<=", ">=", "//", "**", "..."})
      if (text_.substr(at_, pair.size()) == pair) return accept(pair.size());
    const char c = text_[at_];
    if (std::string_view("()[]{}:,=<>+-*/%@~.").find(c) == std::string_view::npos) {
      const Token token = make(Token::Form::kSymbol, at_, at_ + 1);
      const bool printable = c > ' ' && c < 127;
      report(token, printable ? fmt::format("'{}' has no meaning in a problem file; remove it", c)
                              : fmt::format("byte 0x{:02x} has no meaning in a problem file; remove it",
                                            static_cast<unsigned>(static_cast<unsigned char>(c))));
      return;
    }
    if (c == '(' || c == '[') ++depth_;
    if ((c == ')' || c == ']') && depth_ > 0) --depth_;
    accept(1);
  }

  void accept(std::size_t size) {
    list_.tokens.push_back(make(Token::Form::kSymbol, at_, at_ + size));
    at_ += size;
  }

  Token make(Token::Form form, std::size_t begin, std::size_t end) const {
    Token token;
    token.form = form;
    token.text = text_.substr(begin, end - begin);
    token.line = line_;
    token.column = static_cast<int>(begin - line_start_) + 1;
    return token;
  }

  void report(const Token& token, std::string message, ErrorCode code = ErrorCode::kInvalid) {
    list_.errors.push_back(error_at(text_, file_, token, std::move(message)));
    list_.errors.back().code = code;
  }

  std::string_view text_;
  const std::string& file_;
  TokenList list_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
  int depth_ = 0;
  bool before_python_ = false;  // this line opens section python
};

}  // namespace

TokenList tokenize(std::string_view text, const std::string& file) { return Lexer(text, file).run(); }

Error error_at(std::string_view text, const std::string& file, const Token& token, std::string message) {
  Error error;
  error.message = std::move(message);
  error.span = Span{file, token.line, token.column, token.length()};
  error.source_line = std::string(line_of(text, token.line).substr(0, 400));
  return error;
}

}  // namespace kw::problem
