// Module to text. Lossless: the printed text has the same tokens, in the same order, as the text the
// module was parsed from (comments and white space aside), so parse(print(m)) equals m.
#pragma once

#include <string>

#include "ptx/module.h"

namespace kw::ptx {

std::string print(const Module& module);
std::string print(const Function& function, const Instruction& instruction);  // one line, no newline

}  // namespace kw::ptx
