// Runs a program that nobody trusts (a candidate's host code, a compiler reading a candidate's source).
//
// Inside the jail paths are the host's own paths, but only those of `read_only` and `work_dir` exist.
// - namespaces (preferred): user, mount, pid, net, ipc and uts namespaces; a private root of read-only binds;
//   work_dir is a memory file system of work_bytes, filled from the host's folder before and copied back
//   (regular files and folders only) after the program ended by itself; nothing outside can be seen or signalled.
// - Landlock (where the system refuses namespaces): reading and writing outside the same lists is refused by the
//   kernel, work_dir is the host's folder and its size is watched; signals to outside are refused.
// Both: no network, no new privileges, a seccomp filter (ptrace, mount, bpf, keyctl, perf_event_open, kexec, io_uring,
// namespaces, sockets other than AF_UNIX … answer EPERM), rlimits, memory watch, TMPDIR=work_dir/.tmp (not copied back).
// Everything in the jail is dead when run_jailed returns, and dies when this process dies.
//
// Errors: kUnsupported with a remedy when neither kind can be had; those of run_process; kInvalid for bad paths.
// Linux x86-64 and aarch64. Thread-safe: calls may run concurrently.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"

namespace kw {

enum class JailKind { kNone, kNamespaces, kLandlock };

struct JailOptions {
  // Absolute host paths (files or folders) that can be read and executed. Ones that do not exist are skipped.
  // jail_system_paths() is what a dynamically linked program or a compiler needs.
  std::vector<std::string> read_only;
  std::string work_dir;               // absolute host folder that exists: the only place that can be written
  uint64_t work_bytes = 1ull << 30;   // all files in it together
  uint64_t memory_bytes = 8ull << 30; // resident, all processes together (sampled every few milliseconds)
  JailKind kind = JailKind::kNone;    // kNone: the best there is; otherwise exactly this kind
};

// /usr, /lib*, /bin, /etc/alternatives, /etc/ld.so.cache and the like, as far as they exist. Not /etc itself.
std::vector<std::string> jail_system_paths();

// command.cwd empty means work_dir. command.env nullopt means a minimal one (PATH=/usr/local/bin:/usr/bin:/bin,
// HOME=work_dir, USER=nobody, LANG=C.UTF-8), never this process's. Limits left 0 get jail defaults: address space 16 GiB,
// file_bytes work_bytes, processes 256, open_files 512, cpu_seconds wall_seconds × 8.
Result<ProcessOutcome> run_jailed(const Command& command, const JailOptions& options);

// What this machine gives (tried once, then remembered), and why the better kind is not to be had.
struct JailSupport {
  JailKind kind = JailKind::kNone;
  std::string namespaces_problem;  // empty when they work
  std::string landlock_problem;
  std::string remedy;              // what to type for the better kind; empty when namespaces work
};
const JailSupport& jail_support();

std::string_view name(JailKind kind);  // "namespaces", "Landlock", "none"

}  // namespace kw
