// Cases of tests/problem/*.test: "# title" lines, a directive, its text, "----", what is expected. A line
// that starts with "# " after a blank line starts the next case. See docs/formats/problem.md.
#pragma once

#include <string>
#include <vector>

namespace kw::problem {

struct TextCase {
  std::string file;
  int line = 0;
  std::string title;
  std::string directive, arguments;  // "evaluate-error f32[2]"
  std::string text;
  std::string expected;
};

std::vector<TextCase> read_cases(const std::string& path);  // an empty file is a failed test

}  // namespace kw::problem
