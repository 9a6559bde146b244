// nvcc's output as diagnostics. nvcc speaks with three voices: cudafe++ ("a.cu(3): error: …"), the host compiler
// ("a.cu:3:5: error: …") and ptxas ("ptxas a.ptx, line 3; error : …"). Internal to toolchain. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "toolchain/toolchain.h"

namespace kw::toolchain {

// Paths below `folder` become relative to it. Errors come first; at most `limit`.
std::vector<Diagnostic> parse_diagnostics(std::string_view log, const std::string& folder, size_t limit = 50);

}  // namespace kw::toolchain
