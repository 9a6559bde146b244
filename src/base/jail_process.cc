#include "base/jail_process.h"

#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/jail_tree.h"

namespace kw {

void send_report(const JailContext& context, const JailReport& report) {
  // Smaller than PIPE_BUF, so written whole.
  const ssize_t ignored = write(context.report, &report, sizeof report);
  static_cast<void>(ignored);
}

void report_and_exit(const JailContext& context, JailStage stage, int path_index) {
  JailReport report;
  report.stage = stage;
  report.error = errno;
  report.path_index = path_index;
  send_report(context, report);
  _exit(127);
}

void close_all_but(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  unsigned next = 0;
  for (const int fd : keep) {
    if (fd < 0) continue;
    const unsigned kept = static_cast<unsigned>(fd);
    if (kept > next) syscall(SYS_close_range, next, kept - 1, 0);
    next = std::max(next, kept + 1);
  }
  syscall(SYS_close_range, next, ~0u, 0);
}

bool control_says_stop(int control) {
  struct pollfd fd {control, POLLIN, 0};
  return control >= 0 && poll(&fd, 1, 0) > 0;
}

bool drop_capabilities() {
  for (unsigned long capability = 0; capability < 64; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) break;  // past the last one
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

JailReport watch_command(const JailContext& context, pid_t command, pid_t group, int proc, int work, int control,
                         void (*stop_all)(pid_t)) {
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigaddset(&child_signal, SIGTERM);
  JailReport report;
  bool running = true;
  const struct timespec interval {0, 4'000'000};
  for (unsigned tick = 0; running; ++tick) {
    const int signal_number = sigtimedwait(&child_signal, nullptr, &interval);
    if (signal_number == SIGTERM || control_says_stop(control)) {
      report.reason = StopReason::kDeadline;
      break;
    }
    while (true) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, WNOHANG);
      if (ended <= 0) break;
      if (ended == command) {
        report.wait_status = status;
        running = false;
      }
    }
    // A jail whose processes end all the time wakes us all the time: then sample at every eighth wake-up only.
    if (!running || (signal_number == SIGCHLD && tick % 8 != 0)) continue;
    const ProcessSum sum = sum_processes(proc, group);
    if (sum.resident_bytes > context.memory_bytes) report.reason = StopReason::kMemoryLimit;
    if (sum.processes > context.limits.processes) report.reason = StopReason::kProcessLimit;
    if (work >= 0 && tick % 4 == 0 && tree_bytes(work, context.work_bytes + 1) > context.work_bytes) {
      report.reason = StopReason::kDiskLimit;
    }
    if (report.reason != StopReason::kExited) break;
  }
  while (true) {
    stop_all(group);
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == ECHILD) break;
    if (ended == command) report.wait_status = status;
  }
  getrusage(RUSAGE_CHILDREN, &report.usage);
  return report;
}

}  // namespace kw
