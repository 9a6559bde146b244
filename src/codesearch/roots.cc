#include "codesearch/roots.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/folders_above.h"
#include "base/installed.h"

namespace kw::codesearch {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Of a checkout its headers, examples and documents; of a folder of headers those of the two libraries.
bool add_cutlass(Roots& roots, const fs::path& place) {
  const size_t before = roots.places.size();
  if (is_folder(place / "include/cutlass") || is_folder(place / "include/cute")) {
    for (const char* part : {"include", "examples", "media/docs"})
      if (is_folder(place / part)) roots.places.push_back({std::string("cutlass/") + part, (place / part).string()});
  } else {
    for (const char* library : {"cutlass", "cute"})
      if (is_folder(place / library)) roots.places.push_back({library, (place / library).string()});
  }
  return roots.places.size() > before;
}

// Best first.
std::vector<fs::path> header_folders() {
  std::vector<fs::path> folders;
  for (const char* variable : {"CPATH", "CPLUS_INCLUDE_PATH"}) {
    const std::string list = environment(variable);
    for (size_t at = 0; at < list.size();) {
      const size_t end = std::min(list.find(':', at), list.size());
      if (end > at) folders.emplace_back(list.substr(at, end - at));
      at = end + 1;
    }
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string home = environment(variable); !home.empty()) folders.push_back(fs::path(home) / "include");
  // Wheels: NVIDIA's own, and the one that brings CUTLASS as a whole.
  for (const std::string& folder : folders_above()) {
    std::error_code ignored;
    for (fs::directory_iterator python(fs::path(folder) / ".venv/lib", ignored), end; !ignored && python != end; python.increment(ignored)) {
      const fs::path packages = python->path() / "site-packages";
      folders.push_back(packages / "cutlass_library/source");
      std::error_code none;
      for (fs::directory_iterator wheel(packages / "nvidia", none), last; !none && wheel != last; wheel.increment(none))
        folders.push_back(wheel->path() / "include");
    }
  }
  for (const char* usual : {"/usr/local/cuda/include", "/usr/local/include", "/usr/include"}) folders.emplace_back(usual);
  return folders;
}

void find_cutlass(Roots& roots) {
  for (const char* variable : {"KW_CUTLASS", "CUTLASS_PATH"}) {
    const std::string place = environment(variable);
    if (place.empty()) continue;
    if (!add_cutlass(roots, place))
      roots.notes.push_back(fmt::format("CUTLASS was not found: {} names {}, which has no folder include/cutlass, cutlass or cute.", variable, place));
    return;
  }
  for (const fs::path& folder : header_folders())
    if (add_cutlass(roots, folder)) return;
  roots.notes.emplace_back("CUTLASS was not found: set KW_CUTLASS to a checkout of it to search it too.");
}

}  // namespace

Result<Roots> roots_of(const std::vector<std::string>& places) {
  Roots roots;
  for (const std::string& place : places) {
    std::error_code error;
    if (place.empty() || !fs::exists(place, error))
      return fail(ErrorCode::kNotFound, "there is no folder or file '{}' to search{}", place, error ? ": " + error.message() : "");
    std::string name = fs::path(place).lexically_normal().string();
    while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    roots.places.push_back({name == "." ? "" : name, place});
  }
  return roots;
}

Roots own_roots() {
  Roots roots;
  const auto add = [&](const char* name, const std::string& installed) {
    auto found = installed_or_built(installed, std::string(KW_SOURCE_TREE "/") + name, std::string("the folder ") + name, "install the program again");
    if (found) roots.places.push_back({name, *found});
    else roots.notes.push_back(found.error().message + ".");
  };
  add("kernels", "share/kernelwright/kernels");
  add("include/kernelwright", "include/kernelwright");
  add("docs", "share/kernelwright/docs");
  find_cutlass(roots);
  return roots;
}

}  // namespace kw::codesearch
