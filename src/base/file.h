// Whole files in and out. Errors name the path and the system's reason: kNotFound when it is absent, kLimit when
// it is larger than the caller allows, kIo otherwise. Paths are UTF-8 as given. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

inline constexpr uint64_t kDefaultFileLimit = 256ull << 20;

// Regular files only (no folder, device or pipe); at most limit_bytes.
Result<std::string> read_file(const std::string& path, uint64_t limit_bytes = kDefaultFileLimit);

// The file holds either what it held before or all of `content`: written beside `path`, synced, renamed.
Status write_file(const std::string& path, std::string_view content);

// The folder and those above it; no error when it is there.
Status make_folder(const std::string& path);

// What was renamed in the folder is on the disk when this returns.
Status sync_folder(const std::string& path);

// A folder of its own (mode 0700) below $TMPDIR or /tmp, removed with all it holds when this goes out of scope.
class TempDir {
 public:
  static Result<TempDir> create(std::string_view prefix = "kw");
  // The same below `folder`.
  static Result<TempDir> create_in(const std::string& folder, std::string_view prefix);
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) noexcept;
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  void keep() { kept_ = true; }  // leave it there, for a person to look at

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  void remove() noexcept;
  std::string path_;
  bool kept_ = false;
};

}  // namespace kw
