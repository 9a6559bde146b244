#include "base/cache_folder.h"

#include <cstdlib>

namespace kw {

Result<std::string> cache_folder() {
  for (const auto& [name, below] : {std::pair{"KW_CACHE", ""}, {"XDG_CACHE_HOME", "/kernelwright"}, {"HOME", "/.cache/kernelwright"}})
    if (const char* folder = std::getenv(name); folder != nullptr && *folder != '\0') return std::string(folder) + below;
  return fail(ErrorCode::kNotFound, "there is no folder for the cache; set KW_CACHE or HOME");
}

}  // namespace kw
