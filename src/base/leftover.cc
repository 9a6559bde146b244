#include "base/leftover.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "/.kernelwright";
constexpr size_t kMost = 64;
constexpr time_t kMinute = 60;

// Whether `name` ends in what mkdtemp and mkostemp make of ".XXXXXX".
bool has_random_end(std::string_view name) {
  if (name.size() < 8 || name[name.size() - 7] != '.') return false;
  const std::string_view end = name.substr(name.size() - 6);
  return std::all_of(end.begin(), end.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

bool is_ours_and_older(const std::string& path, time_t age, bool must_be_folder) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || info.st_uid != geteuid()) return false;
  if (!S_ISDIR(info.st_mode) && (must_be_folder || !S_ISREG(info.st_mode))) return false;
  return info.st_mtime + age <= std::time(nullptr);
}

template <typename Wanted>
std::vector<std::string> entries(const std::string& folder, const Wanted& wanted) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end && out.size() < kMost; it.increment(error)) {
    if (wanted(it->path().filename().string(), it->path().string())) out.push_back(it->path().string());
  }
  return out;
}

}  // namespace

Result<UniqueFd> claim_folder(const std::string& folder) {
  UniqueFd mark(open((folder + kMark).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!mark || flock(mark.get(), LOCK_EX | LOCK_NB) != 0) return fail(ErrorCode::kIo, "cannot claim {}: {}", folder, std::strerror(errno));
  return mark;
}

void remove_claimed_folder(const std::string& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().string() != folder + kMark) fs::remove_all(entry.path(), ignored);
  }
  fs::remove_all(folder, ignored);
}

void sweep_claimed_folders(const std::string& parent, std::string_view prefix) {
  const auto wanted = [&](const std::string& name, const std::string& path) {
    return name.size() == prefix.size() + 7 && name.starts_with(prefix) && has_random_end(name) && is_ours_and_older(path, kMinute, true);
  };
  for (const std::string& folder : entries(parent, wanted)) {
    const UniqueFd mark(open((folder + kMark).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!mark) {
      rmdir(folder.c_str());   // its maker came no further; refused by the system when something is in it
    } else if (flock(mark.get(), LOCK_EX | LOCK_NB) == 0) {
      remove_claimed_folder(folder);
    }
  }
}

void sweep_unfinished(const std::string& folder, double older_than_s) {
  const auto wanted = [older_than_s](const std::string& name, const std::string& path) {
    return has_random_end(name) && is_ours_and_older(path, static_cast<time_t>(older_than_s), false);
  };
  std::error_code ignored;
  for (const std::string& path : entries(folder, wanted)) fs::remove_all(path, ignored);
}

}  // namespace kw
