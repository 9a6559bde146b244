#include "codesearch/scan.h"

#include <algorithm>

namespace kw::codesearch {
namespace {

// A notice at the head of a file is the same in all of them.
void skip_copyright(std::string_view text, std::vector<Line>& lines) {
  size_t end = 0;
  bool notice = false;
  for (; end < lines.size() && (lines[end].comment || (lines[end].blank && !notice)); ++end) {
    std::string line(text.substr(lines[end].begin, lines[end].end - lines[end].begin));
    std::transform(line.begin(), line.end(), line.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    notice = notice || line.find("copyright") != std::string::npos;
    if (notice && line.find("*/") != std::string::npos) {
      ++end;
      break;
    }
  }
  if (notice)
    for (size_t i = 0; i < end; ++i) lines[i].skipped = true;
}

std::string_view trimmed(std::string_view text, const Line& line) {
  std::string_view out = text.substr(line.begin, line.end - line.begin);
  out.remove_prefix(std::min(out.find_first_not_of(" \t"), out.size()));
  return out;
}

}  // namespace

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    Line line;
    line.begin = static_cast<uint32_t>(at);
    line.end = static_cast<uint32_t>(end);
    line.blank = text.substr(at, end - at).find_first_not_of(" \t\f\v\r") == std::string_view::npos;
    lines.push_back(line);
    at = end + 1;
  }
  return lines;
}

void add_run(std::vector<Run>& runs, uint32_t end, Kind kind) {
  const uint32_t begin = runs.empty() ? 0 : runs.back().end;
  if (end <= begin) return;
  if (!runs.empty() && runs.back().kind == kind) runs.back().end = end;
  else runs.push_back({begin, end, kind});
}

Scan scan_plain(std::string_view text) {
  Scan out;
  out.lines = lines_of(text);
  for (Line& line : out.lines) line.closes = line.blank;
  add_run(out.runs, static_cast<uint32_t>(text.size()), Kind::kComment);
  return out;
}

// Sections from heading to heading; what stands in a fence is code.
Scan scan_markdown(std::string_view text) {
  Scan out;
  out.lines = lines_of(text);
  std::string fence;
  for (size_t i = 0; i < out.lines.size(); ++i) {
    Line& line = out.lines[i];
    const std::string_view here = trimmed(text, line);
    const bool was_fenced = !fence.empty();
    if (here.starts_with("```") || here.starts_with("~~~")) {
      const size_t length = std::min(here.find_first_not_of(here[0]), here.size());
      if (fence.empty()) fence = std::string(here.substr(0, length));
      else if (here.starts_with(fence) && length == here.size()) fence.clear();
    }
    line.heading = !was_fenced && fence.empty() && here.starts_with('#') && here.find_first_not_of('#') < 7 && here[here.find_first_not_of('#')] == ' ';
    line.depth = line.blank ? (was_fenced ? 2 : 0) : was_fenced ? 2 : 1;
    if (line.heading && i > 0) out.lines[i - 1].closes = true;
    add_run(out.runs, std::min(line.end + 1, static_cast<uint32_t>(text.size())), was_fenced ? Kind::kCode : Kind::kComment);
  }
  return out;
}

// By indentation; a text between three quotes that begins its line is taken for documentation.
Scan scan_python(std::string_view text) {
  Scan out;
  out.lines = lines_of(text);
  std::string_view quotes;   // of the text that is open
  bool documentation = false;
  size_t previous = out.lines.size();   // the last line with code
  for (size_t i = 0; i < out.lines.size(); ++i) {
    Line& line = out.lines[i];
    const std::string_view here = trimmed(text, line);
    const size_t indentation = line.end - line.begin - here.size();
    const bool continued = !quotes.empty();
    line.depth = line.blank || continued ? 1000 : static_cast<uint16_t>(std::min<size_t>(indentation, 999));
    size_t comment_from = std::string_view::npos;
    for (size_t at = line.begin; at < line.end;) {
      if (!quotes.empty()) {
        const size_t close = text.substr(0, line.end).find(quotes, at);
        at = close == std::string_view::npos ? line.end : close + 3;
        add_run(out.runs, static_cast<uint32_t>(at), documentation ? Kind::kComment : Kind::kCode);
        if (close != std::string_view::npos) quotes = {};
      } else if (text[at] == '#') {
        comment_from = at;
        break;
      } else if (const std::string_view three = text.substr(at, 3); three == "\"\"\"" || three == "'''") {
        documentation = at == line.begin + indentation;
        if (documentation) add_run(out.runs, static_cast<uint32_t>(at), Kind::kCode);
        quotes = three;
        at += 3;
      } else if (text[at] == '"' || text[at] == '\'') {
        const char quote = text[at];
        for (++at; at < line.end && text[at] != quote; ++at)
          if (text[at] == '\\') ++at;
        ++at;
      } else {
        ++at;
      }
    }
    const bool imports = here.starts_with("import ") || here.starts_with("from ");
    add_run(out.runs, static_cast<uint32_t>(std::min<size_t>(comment_from, line.end)), imports ? Kind::kInclude : Kind::kCode);
    add_run(out.runs, line.end, Kind::kComment);
    line.comment = here.starts_with('#') || (documentation && (continued || here.starts_with("\"\"\"") || here.starts_with("'''")));
    const bool outside = !line.blank && !continued && indentation == 0 && !here.starts_with('#') && !here.starts_with(')') && !here.starts_with(']') && !here.starts_with('}');
    line.heading = outside && (here.starts_with("def ") || here.starts_with("class ") || here.starts_with("async ") || here.starts_with('@'));
    // What stands outside ends what came before it, but for the decorators of a function.
    if (outside && previous < i && text[out.lines[previous].begin] != '@') out.lines[previous].closes = true;
    if (!line.blank && !(line.comment && indentation == 0 && !continued)) previous = i;
  }
  add_run(out.runs, static_cast<uint32_t>(text.size()), Kind::kCode);
  return out;
}

Scan scan(std::string_view text, Language language) {
  Scan out = language == Language::kC        ? scan_c(text)
             : language == Language::kPython ? scan_python(text)
             : language == Language::kMarkdown ? scan_markdown(text) : scan_plain(text);
  skip_copyright(text, out.lines);
  return out;
}

}  // namespace kw::codesearch
