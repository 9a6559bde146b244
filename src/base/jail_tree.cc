#include "base/jail_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"

namespace kw {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Calls visit(name, info) for each entry of the folder until it returns false.
template <typename Visit>
bool for_each_entry(int folder, Visit visit) {
  const int again = openat(folder, ".", kFolderFlags);  // the stream owns it and has a position of its own
  if (again < 0) return false;
  DIR* stream = fdopendir(again);
  if (stream == nullptr) {
    close(again);
    return false;
  }
  bool good = true;
  while (good) {
    errno = 0;
    const dirent* entry = readdir(stream);
    if (entry == nullptr) {
      good = errno == 0;
      break;
    }
    const char* name = entry->d_name;
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
    struct stat info {};
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;  // it has gone meanwhile
    good = visit(name, info);
  }
  const int error = errno;
  closedir(stream);
  errno = error;
  return good;
}

bool too_much() {
  errno = EFBIG;
  return false;
}

struct Copy {
  bool links;
  int owner;
  uint64_t bytes_left;
  uint64_t entries_left = kTreeEntries;

  bool contents(int in, int out) {
    char buffer[65536];
    while (true) {
      const ssize_t n = read(in, buffer, sizeof buffer);
      if (n == 0) return true;
      if (n < 0) {
        if (errno == EINTR) continue;
        return false;
      }
      if (static_cast<uint64_t>(n) > bytes_left) return too_much();
      bytes_left -= static_cast<uint64_t>(n);
      for (ssize_t done = 0; done < n;) {
        const ssize_t written = write(out, buffer + done, static_cast<size_t>(n - done));
        if (written < 0 && errno != EINTR) return false;
        if (written > 0) done += written;
      }
    }
  }

  bool file(int from, int to, const char* name, const struct stat& info) {
    struct stat there {};
    if (fstatat(to, name, &there, AT_SYMLINK_NOFOLLOW) == 0) {
      const bool same = S_ISREG(there.st_mode) && there.st_size == info.st_size &&
                        there.st_mtim.tv_sec == info.st_mtim.tv_sec && there.st_mtim.tv_nsec == info.st_mtim.tv_nsec;
      if (same) return true;
      if (!S_ISDIR(there.st_mode)) unlinkat(to, name, 0);
    }
    const UniqueFd in(openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!in) return false;
    const UniqueFd out(openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!out || !contents(in.get(), out.get())) return false;
    if (owner >= 0 && fchown(out.get(), static_cast<uid_t>(owner), static_cast<gid_t>(owner)) != 0) return false;
    const struct timespec times[2] = {info.st_atim, info.st_mtim};
    return fchmod(out.get(), (info.st_mode & 0777) | 0600) == 0 && futimens(out.get(), times) == 0;
  }

  bool folder(int from, int to, const char* name, int depth) {
    const UniqueFd in(openat(from, name, kFolderFlags));
    if (!in) return false;
    if (mkdirat(to, name, 0755) != 0 && errno != EEXIST) return false;
    UniqueFd out(openat(to, name, kFolderFlags));
    if (!out && (errno == ENOTDIR || errno == ELOOP)) {
      // A file or link is in the way of the folder.
      if (unlinkat(to, name, 0) != 0 || mkdirat(to, name, 0755) != 0) return false;
      out.reset(openat(to, name, kFolderFlags));
    }
    if (!out) return false;
    if (owner >= 0 && fchown(out.get(), static_cast<uid_t>(owner), static_cast<gid_t>(owner)) != 0) return false;
    return tree(in.get(), out.get(), depth + 1);
  }

  bool tree(int from, int to, int depth) {
    if (depth > kTreeDepth) return too_much();
    return for_each_entry(from, [&](const char* name, const struct stat& info) {
      if (entries_left-- == 0) return too_much();
      if (depth == 0 && std::strcmp(name, ".tmp") == 0) return true;
      if (S_ISREG(info.st_mode)) return file(from, to, name, info);
      if (S_ISDIR(info.st_mode)) return folder(from, to, name, depth);
      if (S_ISLNK(info.st_mode) && links) {
        char target[4096];
        const ssize_t n = readlinkat(from, name, target, sizeof target - 1);
        if (n < 0) return false;
        target[n] = '\0';
        return symlinkat(target, to, name) == 0 || errno == EEXIST;
      }
      return true;
    });
  }
};

struct Measure {
  uint64_t enough;
  uint64_t bytes = 0;
  uint64_t entries_left = kTreeEntries;

  void tree(int folder, int depth) {
    if (depth > kTreeDepth) {
      bytes = enough;
      return;
    }
    for_each_entry(folder, [&](const char* name, const struct stat& info) {
      if (entries_left-- == 0) bytes = enough;
      if (bytes >= enough) return false;
      bytes += static_cast<uint64_t>(info.st_blocks) * 512;
      if (S_ISDIR(info.st_mode)) {
        const UniqueFd below(openat(folder, name, kFolderFlags));
        if (below) tree(below.get(), depth + 1);
      }
      return true;
    });
  }
};

void mark_programs_below(int folder, int depth) {
  if (depth > kTreeDepth) return;
  for_each_entry(folder, [&](const char* name, const struct stat& info) {
    if (S_ISDIR(info.st_mode)) {
      const UniqueFd below(openat(folder, name, kFolderFlags));
      if (below) mark_programs_below(below.get(), depth + 1);
    } else if (S_ISREG(info.st_mode) && (info.st_mode & 0111) == 0) {
      const UniqueFd file(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
      char magic[4] = {};
      if (file && read(file.get(), magic, 4) == 4 && std::memcmp(magic, "\177ELF", 4) == 0) {
        static_cast<void>(fchmod(file.get(), (info.st_mode & 0777) | 0111));
      }
    }
    return true;
  });
}

// Reads a small file of /proc whole; false when the process has gone.
bool read_small(int proc, const char* pid, const char* file, char* buffer, size_t size) {
  char path[64];
  std::snprintf(path, sizeof path, "%.20s/%s", pid, file);
  const UniqueFd fd(openat(proc, path, O_RDONLY | O_CLOEXEC));
  if (!fd) return false;
  const ssize_t n = read(fd.get(), buffer, size - 1);
  if (n <= 0) return false;
  buffer[n] = '\0';
  return true;
}

}  // namespace

bool copy_tree(int from, int to, bool links, int owner, uint64_t bytes) {
  Copy copy{links, owner, bytes};
  return copy.tree(from, to, 0);
}

uint64_t tree_bytes(int folder, uint64_t enough) {
  Measure measure{enough};
  measure.tree(folder, 0);
  return measure.bytes;
}

void mark_programs(int folder) { mark_programs_below(folder, 0); }

ProcessSum sum_processes(int proc, pid_t group) {
  static const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  ProcessSum sum;
  for_each_entry(proc, [&](const char* name, const struct stat& info) {
    if (!S_ISDIR(info.st_mode) || name[0] < '1' || name[0] > '9') return true;
    if (group == 0 && std::strcmp(name, "1") == 0) return true;
    char text[1024];
    if (group != 0) {
      if (!read_small(proc, name, "stat", text, sizeof text)) return true;
      // "pid (name) state ppid pgrp …"; the name may hold anything, so count from its last parenthesis.
      const char* after = std::strrchr(text, ')');
      int parent = 0, own_group = 0;
      char state = 0;
      if (after == nullptr || std::sscanf(after + 1, " %c %d %d", &state, &parent, &own_group) != 3) return true;
      if (own_group != group) return true;
    }
    ++sum.processes;
    unsigned long size = 0, resident = 0;
    if (read_small(proc, name, "statm", text, sizeof text) && std::sscanf(text, "%lu %lu", &size, &resident) == 2) {
      sum.resident_bytes += resident * page;
    }
    return true;
  });
  return sum;
}

}  // namespace kw
