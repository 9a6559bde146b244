// What a text looks like line by line: how deep each is nested, where definitions end, and what of it is comment. Heuristic, by braces,
// indentation and headings: nothing is parsed, and any bytes give some answer. Time and memory are linear in the text. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "codesearch/sources.h"

namespace kw::codesearch {

enum class Kind : uint8_t { kCode, kComment, kInclude };   // kComment: and prose; kInclude: what names other files, as imports do

// A part of the text that is all of one kind; together they are the text, in order.
struct Run {
  uint32_t begin = 0, end = 0;   // bytes
  Kind kind = Kind::kCode;
};

struct Line {
  uint32_t begin = 0, end = 0;   // bytes, without the line's end
  uint16_t depth = 0;            // 0: outside of all definitions; namespaces do not count
  bool blank = false;
  bool comment = false;          // nothing but comment
  bool skipped = false;          // says nothing about its file: a copyright notice, a namespace opened or closed
  bool closes = false;           // a definition may end here
  bool heading = false;          // of Markdown; or begins a definition of Python
};

struct Scan {
  std::vector<Line> lines;
  std::vector<Run> runs;
};

Scan scan(std::string_view text, Language language);

// By language; scan() is what is called.
Scan scan_c(std::string_view text);
Scan scan_python(std::string_view text);
Scan scan_markdown(std::string_view text);
Scan scan_plain(std::string_view text);

// The lines of `text`, with begin, end and blank set.
std::vector<Line> lines_of(std::string_view text);
// Appends the part up to `end` where the last one stopped.
void add_run(std::vector<Run>& runs, uint32_t end, Kind kind);

}  // namespace kw::codesearch
