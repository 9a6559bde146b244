#include "ptx/lexer.h"

#include <array>
#include <charconv>
#include <cstring>

namespace kw::ptx {
namespace {

enum CharClass : uint8_t { kSpaceChar = 1, kNameChar = 2, kNameStart = 4, kDigitChar = 8, kHexChar = 16 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[c] = kNameChar | kNameStart;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] = kNameChar | kNameStart;
  for (int c = '0'; c <= '9'; ++c) table[c] = kNameChar | kDigitChar | kHexChar;
  for (int c = 'a'; c <= 'f'; ++c) table[c] |= kHexChar;
  for (int c = 'A'; c <= 'F'; ++c) table[c] |= kHexChar;
  table['_'] = table['$'] = kNameChar | kNameStart;
  table['%'] = kNameStart;
  for (const char c : {' ', '\t', '\n', '\r', '\v', '\f'}) table[static_cast<uint8_t>(c)] = kSpaceChar;
  return table;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool is(char c, uint8_t classes) { return (kClasses[static_cast<uint8_t>(c)] & classes) != 0; }

unsigned digit_value(char c) {
  if (c <= '9') return static_cast<unsigned>(c - '0');
  return static_cast<unsigned>((c | 0x20) - 'a' + 10);
}

}  // namespace

bool is_name_char(char c) { return is(c, kNameChar); }
bool is_name_start(char c) { return is(c, kNameStart); }

bool Lexer::skip_space() {
  for (;;) {
    const char c = *at_;
    if (c == '\n') {
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (is(c, kSpaceChar)) {
      ++at_;
    } else if (c == '/' && at_[1] == '/') {
      const void* newline = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
      at_ = newline ? static_cast<const char*>(newline) : end_;
    } else if (c == '/' && at_[1] == '*') {
      const char* open = at_;
      const uint32_t open_line = line_;
      const char* open_line_start = line_start_;
      at_ += 2;
      for (;; ++at_) {
        if (at_end()) {  // report where the comment opened
          at_ = open;
          line_ = open_line;
          line_start_ = open_line_start;
          return false;
        }
        if (*at_ == '\n') {
          ++line_;
          line_start_ = at_ + 1;
        } else if (*at_ == '*' && at_[1] == '/') {
          at_ += 2;
          break;
        }
      }
    } else {
      return true;
    }
  }
}

char Lexer::peek_after_space() {
  if (!skip_space()) return '/';
  return *at_;
}

void Lexer::bad(const char* problem, const char* remedy, size_t length) {
  token_.kind = TokenKind::kBad;
  token_.problem = problem;
  token_.remedy = remedy;
  const size_t left = static_cast<size_t>(end_ - token_.text.data());
  token_.text = {token_.text.data(), length < left ? length : left};
  at_ = token_end();
}

void Lexer::next() {
  const bool closed = skip_space();
  token_.line = line_;
  token_.column = static_cast<uint32_t>(at_ - line_start_) + 1;
  token_.text = {at_, 0};
  token_.is_unsigned = false;
  if (!closed) return bad("this comment is never closed", "close it with */", 2);
  const char* start = at_;
  const char c = *at_;
  if (is(c, kNameStart)) {
    ++at_;
    while (is(*at_, kNameChar)) ++at_;
    token_.kind = TokenKind::kIdentifier;
    token_.text = {start, static_cast<size_t>(at_ - start)};
    if (token_.text.size() == 1 && (c == '%' || c == '$')) {
      if (c == '$') return bad("a name cannot be a lone '$'", "names are letters, digits, _ and $", 1);
      token_.kind = TokenKind::kPunctuation;  // the modulo operator
      token_.punctuation = c;
    }
    return;
  }
  if (is(c, kDigitChar)) return lex_number();
  if (c == '.') {
    if (is(at_[1], kDigitChar)) return lex_decimal_float();
    ++at_;
    while (is(*at_, kNameChar) || (*at_ == ':' && at_[1] == ':' && is(at_[2], kNameChar) && at_ > start + 1))
      at_ += *at_ == ':' ? 2 : 1;
    token_.text = {start, static_cast<size_t>(at_ - start)};
    if (token_.text.size() == 1) return bad("a '.' that begins no directive", "write the directive's name directly after the dot", 1);
    token_.kind = TokenKind::kDirective;
    return;
  }
  if (c == '"') {
    for (++at_; !at_end() && *at_ != '"' && *at_ != '\n'; ++at_)
      if (*at_ == '\\' && at_ + 1 < end_ && at_[1] != '\n') ++at_;
    if (at_end() || *at_ != '"')
      return bad("this string is never closed", "close it with \" on the same line", static_cast<size_t>(at_ - start));
    ++at_;
    token_.kind = TokenKind::kString;
    token_.text = {start, static_cast<size_t>(at_ - start)};
    return;
  }
  if (at_end()) {
    token_.kind = TokenKind::kEnd;
    return;
  }
  size_t length = 1;
  switch (c) {
    case '<': case '>': if (at_[1] == c || at_[1] == '=') length = 2; break;
    case '=': case '!': if (at_[1] == '=') length = 2; break;
    case '&': case '|': if (at_[1] == c) length = 2; break;
    case '{': case '}': case '(': case ')': case '[': case ']': case ',': case ';': case ':': case '@':
    case '+': case '-': case '*': case '/': case '~': case '^': case '?': break;
    case '#':
      return bad("preprocessor lines are not PTX that an assembler reads",
                 "run the preprocessor first, or delete the line", 1);
    case '\0': return bad("the text has a NUL byte", "PTX is plain text; is this a binary file?", 1);
    default:
      return bad("this character has no place in PTX",
                 static_cast<uint8_t>(c) >= 0x80 ? "PTX is ASCII; is this a binary or compressed file?"
                                                 : "delete it, or put it into a comment", 1);
  }
  token_.kind = TokenKind::kPunctuation;
  token_.punctuation = c;
  token_.text = {start, length};
  at_ += length;
}

void Lexer::lex_decimal_float() {
  const char* start = token_.text.data();
  const char* stop = start;
  while (is(*stop, kDigitChar)) ++stop;
  if (*stop == '.') ++stop;
  while (is(*stop, kDigitChar)) ++stop;
  if ((*stop | 0x20) == 'e') {
    const char* exponent = stop + 1;
    if (*exponent == '+' || *exponent == '-') ++exponent;
    if (is(*exponent, kDigitChar)) {
      stop = exponent;
      while (is(*stop, kDigitChar)) ++stop;
    }
  }
  if (is(*stop, kNameChar)) {
    while (is(*stop, kNameChar)) ++stop;
    return bad("this is no number", "floats are 0f and 8 hex digits, 0d and 16, or decimal with a point",
               static_cast<size_t>(stop - start));
  }
  double value = 0;
  const auto [end, code] = std::from_chars(start, stop, value);
  if (code == std::errc::result_out_of_range)
    return bad("this number is outside the range of a double", "write it as 0d and 16 hex digits",
               static_cast<size_t>(stop - start));
  std::memcpy(&token_.bits, &value, sizeof value);
  token_.kind = TokenKind::kFloat64;
  token_.text = {start, static_cast<size_t>(stop - start)};
  at_ = stop;
}

void Lexer::lex_number() {
  const char* start = at_;
  const char kind = static_cast<char>(start[1] | 0x20);
  if (start[0] == '0' && (kind == 'f' || kind == 'd')) {
    const size_t want = kind == 'f' ? 8 : 16;
    const char* stop = start + 2;
    uint64_t value = 0;
    while (is(*stop, kHexChar)) value = value << 4 | digit_value(*stop++);
    const bool exact = static_cast<size_t>(stop - start) == want + 2;
    if (is(*stop, kNameChar) || !exact) {
      while (is(*stop, kNameChar)) ++stop;
      return bad("a float literal with the wrong number of hex digits",
                 kind == 'f' ? "0f takes exactly 8 hex digits" : "0d takes exactly 16 hex digits",
                 static_cast<size_t>(stop - start));
    }
    token_.kind = kind == 'f' ? TokenKind::kFloat32 : TokenKind::kFloat64;
    token_.bits = value;
    token_.text = {start, static_cast<size_t>(stop - start)};
    at_ = stop;
    return;
  }
  unsigned base = 10;
  const char* digits = start;
  if (start[0] == '0') {
    if (kind == 'x') base = 16, digits = start + 2;
    else if (kind == 'b') base = 2, digits = start + 2;
    else base = 8;
  }
  const char* stop = digits;
  uint64_t value = 0;
  bool overflow = false, wrong_digit = false;
  while (is(*stop, base == 16 ? kHexChar : kDigitChar)) {
    const unsigned digit = digit_value(*stop++);
    wrong_digit |= digit >= base;
    overflow |= __builtin_mul_overflow(value, static_cast<uint64_t>(base), &value);
    overflow |= __builtin_add_overflow(value, static_cast<uint64_t>(digit), &value);
  }
  if (base != 16 && base != 2 && (*stop == '.' || (*stop | 0x20) == 'e')) return lex_decimal_float();
  const bool empty = stop == digits;
  if (*stop == 'U') {
    ++stop;
    token_.is_unsigned = true;
  }
  if (is(*stop, kNameChar)) {
    while (is(*stop, kNameChar)) ++stop;
    return bad("this is no number", "integers are decimal, 0x hex, 0 octal or 0b binary, with U for unsigned",
               static_cast<size_t>(stop - start));
  }
  const size_t length = static_cast<size_t>(stop - start);
  if (empty) return bad("this number has no digits", "write a digit after the prefix", length);
  if (wrong_digit) return bad("this number has a digit outside its base", base == 8 ? "a leading 0 makes it octal: use 0-7, or drop the 0" : "binary literals use 0 and 1", length);
  if (overflow) return bad("this integer does not fit 64 bits", "PTX integers have 64 bits", length);
  token_.is_unsigned |= value > static_cast<uint64_t>(INT64_MAX);
  token_.kind = TokenKind::kInteger;
  token_.bits = value;
  token_.text = {start, length};
  at_ = stop;
}

bool Lexer::read_modifier(std::string_view& name) {
  if (*at_ != '.') {
    if (!is(*at_, kSpaceChar)) return false;
    if (peek_after_space() != '.') return false;
  }
  const char* start = at_ + 1;
  if (!is(*start, kNameChar)) return false;
  const char* stop = start;
  while (is(*stop, kNameChar) || (*stop == ':' && stop[1] == ':' && is(stop[2], kNameChar)))
    stop += *stop == ':' ? 2 : 1;
  name = {start, static_cast<size_t>(stop - start)};
  at_ = stop;
  return true;
}

bool Lexer::read_element(std::string_view& name) {
  if (*at_ != '.' || !is(at_[1], kNameChar)) return false;
  const char* start = at_ + 1;
  const char* stop = start;
  while (is(*stop, kNameChar)) ++stop;
  name = {start, static_cast<size_t>(stop - start)};
  at_ = stop;
  return true;
}

bool Lexer::skip_section() {
  for (;;) {
    if (!skip_space() || at_end()) return false;
    if (*at_ == '"') {
      for (++at_; !at_end() && *at_ != '"' && *at_ != '\n'; ++at_)
        if (*at_ == '\\' && at_ + 1 < end_ && at_[1] != '\n') ++at_;
      if (at_end() || *at_ != '"') return false;
    }
    if (*at_++ == '}') return true;
  }
}

}  // namespace kw::ptx
