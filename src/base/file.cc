#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/unique_fd.h"

namespace kw {
namespace {

std::string reason(int error) { return std::strerror(error); }

Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail(ErrorCode::kIo, "cannot write {}: {}", path, reason(errno));
    }
    content.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path, uint64_t limit_bytes) {
  // O_NONBLOCK: opening a pipe must not wait for its writer; it has no effect on regular files.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    const int error = errno;
    const bool absent = error == ENOENT || error == ENOTDIR;
    return fail(absent ? ErrorCode::kNotFound : ErrorCode::kIo, "cannot open {}: {}", path, reason(error));
  }
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return fail(ErrorCode::kIo, "cannot inspect {}: {}", path, reason(errno));
  if (S_ISDIR(info.st_mode)) return fail(ErrorCode::kIo, "{} is a folder; a file is needed", path);
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kIo, "{} is not a regular file", path);
  std::string content;
  // The size is a hint only: files in /proc say 0, and a file may grow while it is read.
  const uint64_t hint = static_cast<uint64_t>(std::max<off_t>(info.st_size, 0));
  if (hint > limit_bytes) {
    return fail(ErrorCode::kLimit, "{} has {} bytes; at most {} are accepted", path, hint, limit_bytes);
  }
  content.resize(hint + 1);
  size_t used = 0;
  while (true) {
    if (used == content.size()) content.resize(content.size() + std::max<size_t>(content.size(), 4096));
    const ssize_t n = read(fd.get(), content.data() + used, content.size() - used);
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail(ErrorCode::kIo, "cannot read {}: {}", path, reason(errno));
    }
    if (n == 0) break;
    used += static_cast<size_t>(n);
    if (used > limit_bytes) {
      return fail(ErrorCode::kLimit, "{} has more than the {} bytes that are accepted", path, limit_bytes);
    }
  }
  content.resize(used);
  return content;
}

Status write_file(const std::string& path, std::string_view content) {
  std::vector<char> name(path.begin(), path.end());
  static constexpr std::string_view kSuffix = ".XXXXXX";
  name.insert(name.end(), kSuffix.begin(), kSuffix.end());
  name.push_back('\0');
  UniqueFd fd(mkostemp(name.data(), O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    const bool absent = error == ENOENT || error == ENOTDIR;
    return fail(absent ? ErrorCode::kNotFound : ErrorCode::kIo, "cannot create {}: {}", path, reason(error));
  }
  Status status = write_all(fd.get(), content, path);
  // mkostemp gives 0600; take what an ordinary creation would have given, or what the file had.
  struct stat before {};
  mode_t mode = 0644;
  if (stat(path.c_str(), &before) == 0) mode = before.st_mode & 07777;
  if (status && fchmod(fd.get(), mode) != 0) {
    status = fail(ErrorCode::kIo, "cannot set the mode of {}: {}", path, reason(errno));
  }
  if (status && fsync(fd.get()) != 0) {
    status = fail(ErrorCode::kIo, "cannot sync {}: {}", path, reason(errno));
  }
  if (status && rename(name.data(), path.c_str()) != 0) {
    status = fail(ErrorCode::kIo, "cannot replace {}: {}", path, reason(errno));
  }
  if (!status) unlink(name.data());
  return status;
}

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail(ErrorCode::kIo, "cannot create folder {}: {}", path, error.message());
  if (!std::filesystem::is_directory(path, error)) {
    return fail(ErrorCode::kIo, "{} exists and is not a folder", path);
  }
  return {};
}

Result<TempDir> TempDir::create(std::string_view prefix) {
  const char* base = std::getenv("TMPDIR");
  std::string path = base != nullptr && base[0] == '/' ? base : "/tmp";
  path += "/";
  path += prefix;
  path += ".XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return fail(ErrorCode::kIo, "cannot create a temporary folder like {}: {}; set TMPDIR to a folder that can be written",
                path, reason(errno));
  }
  return TempDir(std::move(path));
}

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})), kept_(other.kept_) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
    kept_ = other.kept_;
  }
  return *this;
}

TempDir::~TempDir() { remove(); }

void TempDir::remove() noexcept {
  if (path_.empty() || kept_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace kw
