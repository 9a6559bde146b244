// Runs another program and waits for it: argv (no shell), environment, folder, captured output, deadline and
// limits. The program leads a process group (and session) of its own; the whole group is killed when the
// deadline or a limit is reached, when the program ends, and when the thread that called dies.
// How the program ended is a value (ProcessOutcome); an Error means that it could not be started.
// For programs that are not trusted use jail.h. Thread-safe: calls may run concurrently.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

// rlimits of each process; 0 leaves what is inherited. Core dumps are always off.
struct ProcessLimits {
  uint64_t cpu_seconds = 0;
  uint64_t address_space_bytes = 0;
  uint64_t file_bytes = 0;  // the largest single file it may write
  uint64_t processes = 0;   // processes and threads of the same user (in a jail: of the jail)
  uint64_t open_files = 0;
};

struct Command {
  std::vector<std::string> argv;  // argv[0] is a path, or a name sought on PATH (this process's)
  std::optional<std::map<std::string, std::string>> env;  // the whole environment; nullopt: this process's
  std::string cwd;                                        // empty: this process's
  std::string stdin_text;                                 // then end of file
  uint64_t stdout_limit_bytes = 16u << 20;                // more than this stops the program
  uint64_t stderr_limit_bytes = 16u << 20;
  double wall_seconds = 60;  // deadline; at most a day
  const std::atomic<bool>* cancel = nullptr;  // set by another thread, it stops the program within a tenth of a second
  ProcessLimits limits;
};

enum class StopReason {
  kExited,       // by itself: exit_code
  kSignalled,    // by a signal of its own making (a crash): signal
  kDeadline,     // wall_seconds passed
  kCancelled,    // *cancel was set
  kOutputLimit,  // wrote more than stdout_limit_bytes or stderr_limit_bytes
  kCpuLimit,     // used more than limits.cpu_seconds
  kFileLimit,    // wrote a file larger than limits.file_bytes
  kMemoryLimit,  // jail only: all processes together held more than memory_bytes
  kProcessLimit, // jail only: more than limits.processes at one moment (namespaces: fork fails instead)
  kDiskLimit,    // jail only: its writable folder was full (a program may also just see ENOSPC and go on)
};

struct ProcessOutcome {
  StopReason reason = StopReason::kExited;
  int exit_code = 0;  // meaningful for kExited
  int signal = 0;     // meaningful for kSignalled
  std::string out;    // at most the limit
  std::string err;
  double wall_seconds = 0;
  double cpu_seconds = 0;            // user and system, of the program and the children it waited for
  uint64_t max_resident_bytes = 0;   // of the largest process

  bool succeeded() const { return reason == StopReason::kExited && exit_code == 0; }
};

// "exit code 3", "killed by SIGSEGV", "stopped after 10.0 s (deadline)", ….
std::string describe(const ProcessOutcome& outcome);

// Errors: kNotFound (no such program or folder), kIo (no process or pipe to be had), kInvalid (empty argv,
// embedded NUL).
Result<ProcessOutcome> run_process(const Command& command);

// The absolute path of a program on PATH, or of a path that is executable. Error kNotFound.
Result<std::string> find_program(const std::string& name);

}  // namespace kw
