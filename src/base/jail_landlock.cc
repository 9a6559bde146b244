// The jail where the system refuses namespaces: Landlock (Linux 5.13) holds file access, the strict seccomp filter
// holds sockets, signals and what Landlock leaves open, and the supervisor, as the reaper of all its descendants,
// ends the process group that none of them can leave.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/jail_filter.h"
#include "base/jail_process.h"
#include "base/jail_tree.h"

namespace kw {
namespace {

// From the kernel's interface (landlock.h), whose later parts build machines may lack.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1, kRulePathBeneath = 1;
constexpr uint64_t kExecute = 1u << 0, kWriteFile = 1u << 1, kReadFile = 1u << 2, kReadFolder = 1u << 3;
constexpr uint64_t kAllOfVersion1 = (1u << 13) - 1, kRefer = 1u << 13, kTruncate = 1u << 14;
constexpr uint64_t kMakeDevices = (1u << 6) | (1u << 11);  // character and block devices
constexpr uint64_t kScopeAll = 3;                          // abstract sockets and signals, version 6

struct RulesetAttributes {
  uint64_t files = 0, net = 0, scoped = 0;
};
struct [[gnu::packed]] PathRule {
  uint64_t allowed;
  int32_t parent;
};

int landlock_version() {
  return static_cast<int>(syscall(kCreateRuleset, nullptr, size_t{0}, kAskVersion));
}

bool allow(int ruleset, const char* path, uint64_t access) {
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  struct stat info {};
  const bool folder = fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
  const PathRule rule{folder ? access : access & (kExecute | kWriteFile | kReadFile | kTruncate), fd};
  const bool good = syscall(kAddRule, ruleset, kRulePathBeneath, &rule, 0) == 0;
  close(fd);
  return good;
}

bool restrict_files(const JailContext& context) {
  const int version = landlock_version();
  if (version < 1) return false;
  RulesetAttributes attributes;
  attributes.files = kAllOfVersion1 | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0);
  size_t size = 8;
  if (version >= 6) {
    attributes.scoped = kScopeAll;
    size = 24;
  }
  const uint64_t handled = attributes.files;
  const int ruleset = static_cast<int>(syscall(kCreateRuleset, &attributes, size, 0));
  if (ruleset < 0) return false;
  for (const std::string& path : context.read_only) {
    if (!allow(ruleset, path.c_str(), kExecute | kReadFile | kReadFolder)) return false;
  }
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    if (!allow(ruleset, path, (kReadFile | kWriteFile | kTruncate) & handled)) return false;
  }
  if (!allow(ruleset, context.work_dir.c_str(), handled & ~kMakeDevices)) return false;
  const bool good = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(kRestrictSelf, ruleset, 0) == 0;
  close(ruleset);
  return good;
}

[[noreturn]] void command_main(const JailContext& context) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) report_and_exit(context, JailStage::kFork);
  setsid();
  if (const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    const ssize_t ignored = write(fd, "1000", 4);
    static_cast<void>(ignored);
    close(fd);
  }
  if (!context.stdio.install()) report_and_exit(context, JailStage::kStdio);
  if (chdir(context.cwd.c_str()) != 0) report_and_exit(context, JailStage::kFolder);
  if (!drop_capabilities()) report_and_exit(context, JailStage::kUser);
  reset_signals();
  const std::vector<sock_filter> filter = jail_filter(getpid());
  // The kernel counts processes per user, including those outside; the supervisor counts the jail's instead.
  ProcessLimits limits = context.limits;
  limits.processes = 0;
  if (!apply_limits(limits)) report_and_exit(context, JailStage::kLimits);
  if (!restrict_files(context)) report_and_exit(context, JailStage::kLandlock);
  if (!install_filter(filter)) report_and_exit(context, JailStage::kFilter);
  context.image->exec();
  report_and_exit(context, JailStage::kExec);
}

void stop_group(pid_t group) {
  kill(-group, SIGKILL);
  kill(group, SIGKILL);  // before its setsid
}

}  // namespace

std::string landlock_problem() {
  if (landlock_version() >= 1) return "";
  if (errno == EOPNOTSUPP) return "the kernel has Landlock but it is switched off (boot parameter lsm=)";
  return "the kernel has no Landlock (Linux 5.13 or later): " + std::string(std::strerror(errno));
}

void run_landlock(const JailContext& context) {
  // SIGTERM rather than SIGKILL when the caller dies: this process then ends the group first.
  reset_signals();
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  sigaddset(&watched, SIGTERM);
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    report_and_exit(context, JailStage::kFork);
  }
  if (getppid() != context.caller) _exit(127);
  setsid();
  close_all_but({context.stdio.in, context.stdio.out, context.stdio.err, context.report, context.control});
  const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int work = open(context.work_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0 || work < 0) report_and_exit(context, JailStage::kWorkFolder);
  if (mkdirat(work, ".tmp", 0700) != 0 && errno != EEXIST) report_and_exit(context, JailStage::kWorkFolder);
  const pid_t command = fork();
  if (command < 0) report_and_exit(context, JailStage::kFork);
  if (command == 0) command_main(context);
  for (const int fd : {context.stdio.in, context.stdio.out, context.stdio.err}) close(fd);
  const JailReport report = watch_command(context, command, command, proc, work, context.control, stop_group);
  // The filter refuses every change of mode, so linkers cannot mark what they made.
  mark_programs(work);
  send_report(context, report);
  _exit(0);
}

}  // namespace kw
