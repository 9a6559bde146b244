// What the jail's own processes do with folders and /proc: copy a folder in and out, measure it, add up memory.
// Never follows a symbolic link. Bounded in depth and count. Private to base.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace kw {

inline constexpr int kTreeDepth = 48;
inline constexpr uint64_t kTreeEntries = 100000;

// Copies what is below folder `from` into folder `to` (both open): regular files with their modes and times, folders,
// and, where `links`, symbolic links as they are. An entry that is already in `to` with the same size and time
// stays. `owner` >= 0 becomes the owner of all that is made. Not `.tmp` at the top. At most `bytes` bytes.
// False with errno (EFBIG past a bound).
bool copy_tree(int from, int to, bool links, int owner, uint64_t bytes);

// Bytes of disk space below the open folder; at least `enough` once that is reached or the bounds are passed.
uint64_t tree_bytes(int folder, uint64_t enough);

// Gives regular ELF files below the open folder execute permission.
void mark_programs(int folder);

struct ProcessSum {
  uint64_t resident_bytes = 0;
  uint64_t processes = 0;
};

// Over the processes in the /proc at `proc` (an open folder): those of process group `group`, or, where it is 0, all
// but process 1.
ProcessSum sum_processes(int proc, pid_t group);

}  // namespace kw
