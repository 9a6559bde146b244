#include "base/check.h"

namespace kw {

void check_failed(const char* condition, const char* file, int line) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": check failed: " + condition);
}

}  // namespace kw
