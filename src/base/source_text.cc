#include "base/source_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/result.h"

namespace kw {
namespace {

std::string printable(std::string_view text, size_t most) {
  std::string out(text.substr(0, most));
  if (out.size() < text.size()) {  // no half of a UTF-8 sequence
    while (!out.empty() && (static_cast<unsigned char>(text[out.size()]) & 0xc0) == 0x80) out.pop_back();
  }
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return out;
}

}  // namespace

std::string wrap(std::string_view given, std::string_view indent, size_t columns, size_t hanging) {
  const std::string text = printable(given, given.size());
  std::string out, line(indent);
  bool empty = true;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = std::string_view(text).substr(begin, end - begin);
    if (!empty && line.size() + 1 + word.size() > columns) {
      out += line;
      out += '\n';
      line.assign(indent);
      line.append(hanging, ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
    begin = end + 1;
  }
  if (!empty) {
    out += line;
    out += '\n';
  }
  return out;
}

std::string excerpt(std::string_view text, uint32_t line, std::string_view indent, size_t columns) {
  if (text.empty() || line == 0 || line > 100'000'000) return "";
  if (line_of(text, static_cast<int>(line)).data() == nullptr) return "";
  std::string out;
  for (uint32_t i = line > 2 ? line - 2 : 1; i <= line + 1; ++i) {
    const std::string_view shown = line_of(text, static_cast<int>(i));
    if (shown.empty() && i > line) continue;
    out += fmt::format("{}{} {:>5} | {}\n", indent, i == line ? '>' : ' ', i, printable(shown, columns - indent.size() - 10));
  }
  return out;
}

std::string trimmed_line(std::string_view text, uint32_t line) {
  if (line == 0 || line > 100'000'000) return "";
  std::string_view shown = line_of(text, static_cast<int>(line));
  const size_t first = shown.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  shown = shown.substr(first, shown.find_last_not_of(" \t\r") - first + 1);
  return printable(shown, shown.size());
}

std::string printable_text(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
    const unsigned first = byte(0);
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; ++i) {
      if ((byte(i) & 0xc0) != 0x80) length = 0;
    }
    // Longer than needed, a surrogate, beyond the last code point (The Unicode Standard, table 3-7).
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) || (first == 0xf0 && byte(1) < 0x90) ||
        (first == 0xf4 && byte(1) > 0x8f)) {
      length = 0;
    }
    const bool control = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f || (first == 0xc2 && byte(1) < 0xa0);
    if (control) length = 0;
    if (length == 0) out += '?';
    else out += text.substr(at, length);
    at += std::max<size_t>(length, 1);
  }
  return out;
}

std::string one_line(std::string_view given, size_t columns) {
  constexpr size_t kDots = 3;
  const std::string text = printable_text(given);
  std::string out;
  size_t width = 0, fits = 0;   // fits: bytes of `out` beside which there is room for the dots
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t point = length == 1 ? first : first & (0x7fu >> length);
    for (size_t i = 1; i < length; ++i) point = point << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fu);
    const bool turns = point == 0x061c || point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
    const bool ends = point == 0x2028 || point == 0x2029;
    width += point >= 0x1100 && !turns && !ends ? 2 : 1;
    if (width > columns) return columns < kDots ? out : out.substr(0, fits) + "...";
    if (point < 0x20 || ends) out += ' ';
    else if (turns) out += '?';
    else out += text.substr(at, length);
    if (width + kDots <= columns) fits = out.size();
    at += length;
  }
  return out;
}

}  // namespace kw
