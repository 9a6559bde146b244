// The parts that run_process and run_jailed share: what exec needs, the three pipes of a child, and the loop that
// feeds and drains them until the child ends or a limit stops it. Private to base.
// What the child calls between fork and exec only makes system calls (no allocation).
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "base/unique_fd.h"

namespace kw {

// argv, environment and program path as exec takes them.
class ExecImage {
 public:
  static Result<ExecImage> make(const Command& command);
  ExecImage(ExecImage&&) = default;

  void exec() const;  // returns only on failure, with errno
  const std::string& path() const { return path_; }

 private:
  ExecImage() = default;
  std::string path_;
  std::vector<std::string> strings_;
  std::vector<char*> argv_;
  std::vector<char*> env_;
};

// The child's ends of its standard streams.
struct ChildStdio {
  int in = -1;
  int out = -1;
  int err = -1;
  bool install() const;  // dup2 to 0, 1, 2 and close everything above 2 on exec
};

void reset_signals();                            // default handlers, empty mask
bool apply_limits(const ProcessLimits& limits);  // false with errno

// Reads exactly `size` bytes; false on end of file or error.
bool read_exactly(int fd, void* data, size_t size);

struct PumpResult {
  StopReason reason = StopReason::kExited;  // kExited: nothing here stopped it
  std::string out;
  std::string err;
  double wall_seconds = 0;
};

class ChildPipes {
 public:
  static Result<ChildPipes> create();

  ChildStdio child_side() const { return {in_read_.get(), out_write_.get(), err_write_.get()}; }
  void close_child_side();

  // Until `child` has ended (it is left unreaped), its deadline passed or it wrote too much. When it is to be
  // stopped, calls `stop` (default: kills the process group `child`) and drains what is left.
  PumpResult pump(const Command& command, pid_t child, const std::function<void()>& stop = nullptr);

 private:
  UniqueFd in_read_, in_write_, out_read_, out_write_, err_read_, err_write_;
};

ProcessOutcome make_outcome(PumpResult pumped, int wait_status, const struct rusage& usage,
                            const ProcessLimits& limits);

}  // namespace kw
