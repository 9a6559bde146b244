// Counters as lines for a terminal. Pure.
#pragma once

#include <string>

#include "emu/finding.h"

namespace kw::device {

// Several lines, each indented and ended.
std::string text_of(const emu::Counters& counters);

}  // namespace kw::device
