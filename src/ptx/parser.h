// Text to Module. The only entry point of the parser.
// Any input is accepted as an argument: empty, truncated, binary or hostile text yields an Error with
// the file, line, column and the source line. Nesting, sizes and counts are bounded.
#pragma once

#include "base/result.h"
#include "ptx/module.h"

namespace kw::ptx {

// `file_name` is used in messages only.
Result<Module> parse(std::string text, std::string file_name);

}  // namespace kw::ptx
