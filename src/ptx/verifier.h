// Says whether a module is valid PTX for its own .version and .target: that each instruction form
// exists, is introduced by the module's PTX version and supported by its target, and that operands
// have the number, kinds and types the form takes. Returns every problem found (at most `limit`).
#pragma once

#include <vector>

#include "base/result.h"
#include "ptx/module.h"

namespace kw::ptx {

std::vector<Error> verify(const Module& module, size_t limit = 20);

}  // namespace kw::ptx
