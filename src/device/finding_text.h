// Findings and counters as lines for a terminal. Pure.
#pragma once

#include <string>

#include "emu/finding.h"

namespace kw::device {

// Several lines, the first without indentation, each ended.
std::string text_of(const emu::Finding& finding);
std::string text_of(const emu::Counters& counters);

}  // namespace kw::device
