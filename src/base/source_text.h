// Text for people to read on a terminal: paragraphs of bounded width, and lines of source with one marked.
// Pure. Columns are bytes. Whatever is shown comes without control characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kw {

// `text` as lines of at most `columns` bytes (a longer word keeps its line), each indented and ended; the second
// and further ones by `hanging` more spaces. Empty for empty text.
std::string wrap(std::string_view text, std::string_view indent, size_t columns = 100, size_t hanging = 0);

// The lines of `text` around `line` (from 1), that one marked; empty when there is no such line.
std::string excerpt(std::string_view text, uint32_t line, std::string_view indent, size_t columns = 100);

// Line `line` of `text` (from 1) without the blanks around it; empty when there is none.
std::string trimmed_line(std::string_view text, uint32_t line);

// `text` in one line of at most `columns` columns of a terminal, whatever a program or a language model wrote: without line ends, control
// characters, and those that turn the direction of writing; what is cut ends in "...". Characters from U+1100 on, of which many
// are wide, count as two columns.
std::string one_line(std::string_view text, size_t columns = 60);

// `text` as valid UTF-8 without control characters but line ends and tabs: what is neither becomes "?", byte by byte.
std::string printable_text(std::string_view text);

}  // namespace kw
