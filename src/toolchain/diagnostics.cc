#include "toolchain/diagnostics.h"

#include <algorithm>
#include <charconv>

namespace kw::toolchain {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool number(std::string_view text, int& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

struct Word {
  std::string_view text;
  Diagnostic::Severity severity;
};
constexpr Word kWords[] = {
    {"fatal error", Diagnostic::Severity::kError}, {"catastrophic error", Diagnostic::Severity::kError},
    {"internal error", Diagnostic::Severity::kError}, {"error", Diagnostic::Severity::kError},
    {"warning", Diagnostic::Severity::kWarning},   {"remark", Diagnostic::Severity::kNote},
    {"note", Diagnostic::Severity::kNote},
};

// "error: message", "error #20: message", "error : message": the severity, and the message behind it.
bool severity_of(std::string_view text, Diagnostic& out) {
  for (const Word& word : kWords) {
    if (text.substr(0, word.text.size()) != word.text) continue;
    const size_t colon = text.find(':', word.text.size());
    if (colon == std::string_view::npos || colon > word.text.size() + 12) return false;
    out.severity = word.severity;
    out.message = trimmed(text.substr(colon + 1));
    return true;
  }
  return false;
}

bool parse_line(std::string_view line, Diagnostic& out) {
  // ptxas /tmp/x.ptx, line 12; error : message
  if (line.substr(0, 5) == "ptxas") {
    const size_t at = line.find(", line "), semicolon = line.find(';');
    if (at != std::string_view::npos && semicolon != std::string_view::npos && semicolon > at) {
      out.place.file = "(PTX)";
      number(line.substr(at + 7, semicolon - at - 7), out.place.line);
      return severity_of(trimmed(line.substr(semicolon + 1)), out);
    }
    return severity_of(trimmed(line.substr(5)), out);
  }
  if (line.substr(0, 12) == "nvcc fatal :" || line.substr(0, 13) == "nvcc fatal   ") {
    out.message = trimmed(line.substr(line.find(':') + 1));
    return true;
  }
  // file(12): error: message
  for (size_t open = line.find('('); open != std::string_view::npos; open = line.find('(', open + 1)) {
    const size_t close = line.find("): ", open);
    if (close == std::string_view::npos) break;
    int row = 0;
    if (!number(line.substr(open + 1, close - open - 1), row)) continue;
    if (!severity_of(trimmed(line.substr(close + 3)), out)) continue;
    out.place.file = line.substr(0, open);
    out.place.line = row;
    return true;
  }
  // file:12:5: error: message, or file:12: …
  for (size_t colon = line.find(':'); colon != std::string_view::npos; colon = line.find(':', colon + 1)) {
    const size_t second = line.find(':', colon + 1);
    if (second == std::string_view::npos) break;
    int row = 0, column = 0;
    if (!number(line.substr(colon + 1, second - colon - 1), row)) continue;
    const size_t third = line.find(':', second + 1);
    std::string_view rest = line.substr(second + 1);
    if (third != std::string_view::npos && number(line.substr(second + 1, third - second - 1), column)) rest = line.substr(third + 1);
    if (!severity_of(trimmed(rest), out)) continue;
    out.place.file = line.substr(0, colon);
    out.place.line = row;
    out.place.column = column;
    return true;
  }
  return false;
}

}  // namespace

std::vector<Diagnostic> parse_diagnostics(std::string_view log, const std::string& folder, size_t limit) {
  std::vector<Diagnostic> found;
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < log.size();) {
    size_t end = log.find('\n', begin);
    if (end == std::string_view::npos) end = log.size();
    lines.push_back(log.substr(begin, end - begin));
    begin = end + 1;
  }
  for (size_t i = 0; i < lines.size() && found.size() < 1000; ++i) {
    Diagnostic diagnostic;
    if (lines[i].size() > 65536 || !parse_line(lines[i], diagnostic)) continue;
    std::string& file = diagnostic.place.file;
    if (file.compare(0, folder.size() + 1, folder + "/") == 0) file.erase(0, folder.size() + 1);
    // cudafe++ shows the line indented and a caret below; the host compiler "   12 |  text" and a caret.
    if (i + 1 < lines.size() && lines[i + 1].substr(0, 2) == "  ") {
      std::string_view text = lines[i + 1];
      if (const size_t bar = text.find(" | "); bar != std::string_view::npos && bar < 10) text = text.substr(bar + 3);
      diagnostic.source_line = std::string(trimmed(text));
      if (diagnostic.place.column == 0 && i + 2 < lines.size()) {
        const size_t caret = lines[i + 2].find('^'), start = lines[i + 1].find_first_not_of(' ');
        if (caret != std::string_view::npos && start != std::string_view::npos && caret >= start)
          diagnostic.place.column = 0;   // the shown line lost its indentation, so the caret counts from elsewhere
      }
    }
    found.push_back(std::move(diagnostic));
  }
  // Each error once: a template that is instantiated ten times says the same ten times.
  std::vector<Diagnostic> out;
  for (const Diagnostic& each : found) {
    const bool seen = std::any_of(out.begin(), out.end(), [&](const Diagnostic& other) {
      return other.message == each.message && other.place.file == each.place.file && other.place.line == each.place.line;
    });
    if (!seen) out.push_back(each);
  }
  std::stable_sort(out.begin(), out.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return (a.severity == Diagnostic::Severity::kError) > (b.severity == Diagnostic::Severity::kError);
  });
  if (out.size() > limit) out.resize(limit);
  return out;
}

std::string CompileErrors::summary() const {
  if (diagnostics.empty()) {
    const size_t end = log.find('\n');
    return log.empty() ? "the compiler failed without a message" : log.substr(0, end);
  }
  const Diagnostic& first = diagnostics.front();
  if (first.place.file.empty()) return first.message;
  return fmt::format("{}:{}: {}", first.place.file, first.place.line, first.message);
}

}  // namespace kw::toolchain
