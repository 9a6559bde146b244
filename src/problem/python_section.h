// Section python of a problem file: Python functions, kept as they are. What is known of them without Python are the
// names of the functions that start at the section's own margin; problem files call them by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::problem {

struct PythonSection {
  std::string source;                  // without the indentation of the section
  int line = 0;                        // of the file where it starts
  std::vector<std::string> functions;  // in order, each once
};

// `block`: the lines of the section; it starts at `line` of `text`, which is the whole file. Errors: a line that is
// indented less than the first, a zero byte, no function.
Result<PythonSection> read_python_section(std::string_view block, int line, std::string_view text, const std::string& file);

}  // namespace kw::problem
