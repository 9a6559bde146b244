// Where this program's own files are (headers, runtimes, the Python package, kernels): beside the running program when it is installed,
// else where it was built. Thread-safe.
#pragma once

#include <string>

#include "base/result.h"

namespace kw {

// The real path of `installed`, relative to the folder above the program's; else of `built` (absolute; empty: there is none). kNotFound
// names both and ends with `remedy`.
Result<std::string> installed_or_built(const std::string& installed, const std::string& built, const std::string& what,
                                       const std::string& remedy);

}  // namespace kw
