// Names of kernels and variables as people write them, from their mangled names (Itanium C++ ABI, section 5.1).
// Pure; thread-safe; any text may be given, and the cost is bounded whatever a name unfolds to.
#pragma once

#include <string>
#include <string_view>

namespace kw {

// "attention::scores<64>" for a mangled function: without return type, parameters, anonymous namespaces and what
// nvcc puts in their place. A variable inside a function is its own name, "v_tile". A name that is not mangled
// comes back as it is. The middle of a name of more than 160 characters is left out ("…").
std::string readable_name(std::string_view mangled);

}  // namespace kw
