#include "base/folders_above.h"

#include <filesystem>

namespace kw {

namespace fs = std::filesystem;

std::vector<std::string> folders_above() {
  std::vector<std::string> folders;
  std::error_code ignored;
  for (fs::path folder : {fs::current_path(ignored), fs::read_symlink("/proc/self/exe", ignored).parent_path()}) {
    for (; !folder.empty(); folder = folder.parent_path()) {
      folders.push_back(folder.string());
      if (folder == folder.root_path()) break;
    }
  }
  return folders;
}

}  // namespace kw
