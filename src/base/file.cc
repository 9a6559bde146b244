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

// A pipe or a device is written to as it is: replacing it by a file would take it away from everybody else.
// O_NONBLOCK while opening: a pipe that nobody reads is an error, not a wait.
Status write_special(const std::string& path, std::string_view content) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail(ErrorCode::kIo, "cannot write {}: {}", path, errno == ENXIO ? "nobody reads this pipe" : reason(errno));
  if (const int flags = fcntl(fd.get(), F_GETFL); flags >= 0) fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK);
  return write_all(fd.get(), content, path);
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

Status write_file(const std::string& given, std::string_view content) {
  struct stat before {};
  const bool exists = stat(given.c_str(), &before) == 0;
  if (exists && S_ISDIR(before.st_mode)) return fail(ErrorCode::kIo, "cannot write {}: it is a folder; name a file", given);
  if (exists && !S_ISREG(before.st_mode)) return write_special(given, content);
  // What a link names is written, and the link stays.
  std::error_code unresolved;
  const std::filesystem::path target = exists ? std::filesystem::canonical(given, unresolved) : std::filesystem::path(given);
  const std::string path = unresolved ? given : target.string();
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
  const mode_t mode = exists ? before.st_mode & 07777 : 0644;
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

Status sync_folder(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail(ErrorCode::kIo, "cannot open {}: {}", path, reason(errno));
  // Some network file systems know no such thing; there is nothing to be done about it.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return fail(ErrorCode::kIo, "cannot sync {}: {}", path, reason(errno));
  return {};
}

Result<TempDir> TempDir::create(std::string_view prefix) {
  const char* base = std::getenv("TMPDIR");
  auto made = create_in(base != nullptr && base[0] == '/' ? base : "/tmp", prefix);
  if (!made) made.error().message += "; set TMPDIR to a folder that can be written";
  return made;
}

Result<TempDir> TempDir::create_in(const std::string& folder, std::string_view prefix) {
  std::string path = fmt::format("{}/{}.XXXXXX", folder, prefix);
  if (mkdtemp(path.data()) == nullptr) return fail(ErrorCode::kIo, "cannot create a temporary folder like {}: {}", path, reason(errno));
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
