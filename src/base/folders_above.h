// Where to look for what a person installed beside a project (.venv): the folder that the program runs in and the program's
// own, each followed by all folders above it. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace kw {

std::vector<std::string> folders_above();

}  // namespace kw
