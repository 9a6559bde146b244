// Where what can be made again is kept between runs: $KW_CACHE, or $XDG_CACHE_HOME/kernelwright, or ~/.cache/kernelwright. Not made
// here. Error kNotFound when none of these is set.
#pragma once

#include <string>

#include "base/result.h"

namespace kw {

Result<std::string> cache_folder();

}  // namespace kw
