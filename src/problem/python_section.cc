#include "problem/python_section.h"

#include <algorithm>
#include <cctype>

namespace kw::problem {
namespace {

constexpr std::string_view kBlanks = " \t\r";

// NAME of "def NAME(".
std::string_view defined(std::string_view line) {
  if (!line.starts_with("def ")) return {};
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks, 4), line.size()));
  std::size_t end = 0;
  while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || line[end] == '_')) ++end;
  return line.substr(0, end);
}

}  // namespace

Result<PythonSection> read_python_section(std::string_view block, int line, std::string_view text, const std::string& file) {
  PythonSection section;
  section.line = line;
  std::string_view margin;
  bool margin_known = false;
  const auto complain = [&](std::string message) {
    Error error;
    error.message = std::move(message);
    error.span = Span{file, line, 1, 1};
    error.source_line = std::string(line_of(text, line).substr(0, 400));
    return fail(std::move(error));
  };
  for (; !block.empty(); ++line) {
    const std::size_t end = std::min(block.find('\n'), block.size());
    std::string_view one = block.substr(0, end);
    block.remove_prefix(std::min(end + 1, block.size()));
    if (one.find('\0') != std::string_view::npos) return complain("a zero byte in section python; remove it");
    const std::size_t inside = one.find_first_not_of(kBlanks);
    if (inside != std::string_view::npos) {
      if (!margin_known) margin = one.substr(0, inside);
      margin_known = true;
      if (!one.starts_with(margin))
        return complain("this line is indented less than the first of section python; indent all of them alike");
      one.remove_prefix(margin.size());
    } else {
      one.remove_prefix(std::min(margin.size(), one.size()));
    }
    section.source.append(one).append("\n");
    const std::string name(defined(one));
    if (!name.empty() && std::find(section.functions.begin(), section.functions.end(), name) == section.functions.end())
      section.functions.push_back(name);
  }
  if (section.functions.empty()) {
    line = section.line;
    return complain("section python defines no function; write def NAME(…): at its margin");
  }
  return section;
}

}  // namespace kw::problem
