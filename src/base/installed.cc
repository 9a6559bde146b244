#include "base/installed.h"

#include <filesystem>

namespace kw {

namespace fs = std::filesystem;

Result<std::string> installed_or_built(const std::string& installed, const std::string& built, const std::string& what,
                                       const std::string& remedy) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path beside = program.parent_path().parent_path() / installed;
  if (!program.empty() && fs::exists(beside, ignored)) return fs::canonical(beside, ignored).string();
  if (!built.empty() && fs::exists(built, ignored)) return fs::canonical(built, ignored).string();
  return fail(ErrorCode::kNotFound, "{} is not here: neither {} nor {} exists; {}", what, beside.string(),
              built.empty() ? "a built one" : built, remedy);
}

}  // namespace kw
