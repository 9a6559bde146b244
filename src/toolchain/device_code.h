// The PTX inside a compiled program, without running it: the fat binaries of its .nv_fatbin section.
// Any file is accepted; what is not an ELF-64 program with device code is an Error. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kw::toolchain {

// One text per translation unit with device code, in the order of the section.
Result<std::vector<std::string>> device_code(const std::string& program);

}  // namespace kw::toolchain
