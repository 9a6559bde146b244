#include "base/result.h"

#include <algorithm>

namespace kw {

std::string format_error(const Error& error) {
  std::string out;
  if (error.span) {
    const Span& span = *error.span;
    out += span.file.empty() ? "<input>" : span.file;
    if (span.line > 0) out += fmt::format(":{}", span.line);
    if (span.line > 0 && span.column > 0) out += fmt::format(":{}", span.column);
    out += ": ";
  }
  out += "error: " + error.message + "\n";
  if (error.span && error.span->column > 0 && !error.source_line.empty()) {
    constexpr size_t kMaxShown = 160;  // minified or binary input has lines of any length
    std::string shown = error.source_line.substr(0, kMaxShown);
    for (char& c : shown) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    const size_t column = static_cast<size_t>(error.span->column);
    out += "  " + shown + "\n";
    if (column <= shown.size() + 1) {
      const size_t room = shown.size() + 1 - column;
      const size_t length = error.span->length > 1 ? static_cast<size_t>(error.span->length) - 1 : 0;
      out += "  " + std::string(column - 1, ' ') + "^" + std::string(std::min(length, room), '~') + "\n";
    }
  }
  for (const std::string& note : error.notes) out += "  note: " + note + "\n";
  return out;
}

std::string_view line_of(std::string_view text, int line) {
  size_t begin = 0;
  for (int i = 1; i < line; ++i) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return {};
    begin = end + 1;
  }
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace kw
