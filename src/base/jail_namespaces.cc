// The jail made of namespaces: supervisor, init and command (see jail_process.h for who is who).
// Mounts are made with open_tree and move_mount (Linux 5.2) and mount_setattr (5.12), so that every source is
// opened before the private root hides the host's.
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/jail_filter.h"
#include "base/jail_process.h"
#include "base/jail_tree.h"

namespace kw {
namespace {

// Kernel interface numbers and bits, which older C libraries and kernel headers lack.
constexpr long kOpenTreeCall = 428, kMoveMountCall = 429, kOpenat2Call = 437, kMountSetattrCall = 442;
constexpr unsigned kOpenTreeClone = 1, kAtRecursive = 0x8000;
constexpr unsigned kMoveFromEmptyPath = 0x4, kMoveToEmptyPath = 0x40;
constexpr uint64_t kAttrReadOnly = 0x1, kAttrNoSuid = 0x2, kAttrNoDevices = 0x4;
constexpr uint64_t kResolveInRoot = 0x10;
constexpr uid_t kJailUser = 1000;  // inside

struct MountAttributes {
  uint64_t set = 0, clear = 0, propagation = 0, user_namespace = 0;
};
struct OpenHow {
  uint64_t flags = 0, mode = 0, resolve = 0;
};

int open_mount(const char* path) {
  return static_cast<int>(
      syscall(kOpenTreeCall, AT_FDCWD, path, kOpenTreeClone | static_cast<unsigned>(O_CLOEXEC) | kAtRecursive));
}

bool restrict_mount(int tree, uint64_t attributes) {
  MountAttributes wanted;
  wanted.set = attributes;
  return syscall(kMountSetattrCall, tree, "", AT_EMPTY_PATH | kAtRecursive, &wanted, sizeof wanted) == 0;
}

// A path below the new root, symbolic links in it meaning what they will mean in the jail.
int open_in(int root, const char* path) {
  OpenHow how;
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = kResolveInRoot;
  return static_cast<int>(syscall(kOpenat2Call, root, path, &how, sizeof how));
}

// Makes the folders of `path` (absolute) below root, and, when `is_file`, an empty file at its end. What is there
// already, or cannot be made because a read-only bind covers it, is left for open_in to find.
void make_place(int root, const std::string& path, bool is_file) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdirat(root, path.substr(1, slash - 1).c_str(), 0755);
  }
  const std::string relative = path.substr(1);
  if (is_file) {
    const int fd = openat(root, relative.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd >= 0) close(fd);
  } else {
    mkdirat(root, relative.c_str(), 0755);
  }
}

bool move_mount_to(int tree, int root, const std::string& path, bool is_file) {
  make_place(root, path, is_file);
  const int place = open_in(root, path.c_str());
  if (place < 0) return false;
  const bool good = syscall(kMoveMountCall, tree, "", place, "", kMoveFromEmptyPath | kMoveToEmptyPath) == 0;
  close(place);
  return good;
}

bool is_file(const char* path) {
  struct stat info {};
  return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

constexpr const char* kDevicePaths[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

struct Host {
  std::vector<int> read_only;  // mounts, as read_only in the context
  std::vector<int> devices;
  int work = -1;  // the host's work folder
};

Host open_host(const JailContext& context) {
  Host host;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) report_and_exit(context, JailStage::kRoot);
  for (size_t i = 0; i < context.read_only.size(); ++i) {
    const int tree = open_mount(context.read_only[i].c_str());
    if (tree < 0 || !restrict_mount(tree, kAttrReadOnly | kAttrNoSuid | kAttrNoDevices)) {
      report_and_exit(context, JailStage::kBind, static_cast<int>(i));
    }
    host.read_only.push_back(tree);
  }
  for (const char* path : kDevicePaths) {
    const int tree = open_mount(path);
    if (tree < 0 || !restrict_mount(tree, kAttrNoSuid)) report_and_exit(context, JailStage::kDevices);
    host.devices.push_back(tree);
  }
  host.work = open(context.work_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (host.work < 0) report_and_exit(context, JailStage::kWorkFolder);
  return host;
}

// Mounts a file system of its own kind at `path` below the root.
bool mount_at(int root, const std::string& path, const char* type, unsigned long flags, const char* options) {
  make_place(root, path, false);
  const int place = open_in(root, path.c_str());
  if (place < 0) return false;
  char by_number[40];
  std::snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", place);
  const bool good = mount(type, by_number, type, flags, options) == 0;
  const int error = errno;
  close(place);
  errno = error;
  return good;
}

// Builds the private root over the host's work folder, moves into it; returns the jail's work folder.
int build_root(const JailContext& context, const Host& host, bool two_users) {
  umask(0);
  if (mount("tmpfs", context.work_dir.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=4096,mode=0755") != 0) {
    report_and_exit(context, JailStage::kRoot);
  }
  const int root = open(context.work_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) report_and_exit(context, JailStage::kRoot);
  for (size_t i = 0; i < host.read_only.size(); ++i) {
    const std::string& path = context.read_only[i];
    if (!move_mount_to(host.read_only[i], root, path, is_file(path.c_str()))) {
      report_and_exit(context, JailStage::kBind, static_cast<int>(i));
    }
  }
  for (size_t i = 0; i < host.devices.size(); ++i) {
    if (!move_mount_to(host.devices[i], root, kDevicePaths[i], true)) report_and_exit(context, JailStage::kDevices);
  }
  symlinkat("/proc/self/fd", root, "dev/fd");
  symlinkat("/proc/self/fd/0", root, "dev/stdin");
  symlinkat("/proc/self/fd/1", root, "dev/stdout");
  symlinkat("/proc/self/fd/2", root, "dev/stderr");
  if (!mount_at(root, "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid,hidepid=invisible")) {
    report_and_exit(context, JailStage::kProc);
  }
  const unsigned owner = two_users ? kJailUser : getuid();
  char options[160];
  std::snprintf(options, sizeof options, "size=%llu,nr_inodes=65536,mode=0755,uid=%u,gid=%u",
                static_cast<unsigned long long>(context.work_bytes), owner, owner);
  if (!mount_at(root, context.work_dir, "tmpfs", MS_NOSUID | MS_NODEV, options)) {
    report_and_exit(context, JailStage::kWorkFolder);
  }
  // Swap roots in place: the old one ends up on top of the new one and is taken off.
  if (fchdir(root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 ||
      chdir("/") != 0) {
    report_and_exit(context, JailStage::kPivot);
  }
  MountAttributes read_only;
  read_only.set = kAttrReadOnly;
  if (syscall(kMountSetattrCall, AT_FDCWD, "/", 0, &read_only, sizeof read_only) != 0) {
    report_and_exit(context, JailStage::kPivot);
  }
  close(root);
  umask(022);
  const int work = open(context.work_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (work < 0) report_and_exit(context, JailStage::kWorkFolder);
  const int chown_to = two_users ? static_cast<int>(kJailUser) : -1;
  if (!copy_tree(host.work, work, true, chown_to, context.work_bytes)) report_and_exit(context, JailStage::kCopyIn);
  if (mkdirat(work, ".tmp", 0700) != 0 || (two_users && fchownat(work, ".tmp", kJailUser, kJailUser, 0) != 0)) {
    report_and_exit(context, JailStage::kWorkFolder);
  }
  return work;
}

[[noreturn]] void command_main(const JailContext& context, bool two_users) {
  setsid();
  if (const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    const ssize_t ignored = write(fd, "1000", 4);  // when memory runs out, this goes first
    static_cast<void>(ignored);
    close(fd);
  }
  if (!context.stdio.install()) report_and_exit(context, JailStage::kStdio);
  if (chdir(context.cwd.c_str()) != 0) report_and_exit(context, JailStage::kFolder);
  if (two_users && (setgroups(0, nullptr) != 0 || setresgid(kJailUser, kJailUser, kJailUser) != 0 ||
                    setresuid(kJailUser, kJailUser, kJailUser) != 0)) {
    report_and_exit(context, JailStage::kUser);
  }
  if (!drop_capabilities()) report_and_exit(context, JailStage::kUser);
  reset_signals();
  const std::vector<sock_filter> filter = jail_filter(0);
  if (!apply_limits(context.limits)) report_and_exit(context, JailStage::kLimits);
  if (!install_filter(filter)) report_and_exit(context, JailStage::kFilter);
  context.image->exec();
  report_and_exit(context, JailStage::kExec);
}

void stop_everything(pid_t) { kill(-1, SIGKILL); }  // by process 1: everything in the jail but itself

[[noreturn]] void init_main(const JailContext& context, bool two_users, int alive) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) report_and_exit(context, JailStage::kFork);
  struct pollfd supervisor {alive, POLLIN, 0};
  if (poll(&supervisor, 1, 0) != 0) _exit(127);  // it died before the line above
  // The command has the same user when there is only one: it must not look into this process.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  sethostname("jail", 4);
  const Host host = open_host(context);
  const int work = build_root(context, host, two_users);

  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_signal, nullptr);
  const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) report_and_exit(context, JailStage::kProc);
  const pid_t command = fork();
  if (command < 0) report_and_exit(context, JailStage::kFork);
  if (command == 0) command_main(context, two_users);
  for (const int fd : {context.stdio.in, context.stdio.out, context.stdio.err}) close(fd);

  JailReport report = watch_command(context, command, 0, proc, -1, -1, stop_everything);
  const bool good = WIFEXITED(report.wait_status) && WEXITSTATUS(report.wait_status) == 0;
  struct statvfs space {};
  const bool full = fstatvfs(work, &space) == 0 && (space.f_bfree == 0 || space.f_ffree == 0);
  if (report.reason == StopReason::kExited && !good && full) report.reason = StopReason::kDiskLimit;
  if (report.reason == StopReason::kExited && WIFEXITED(report.wait_status) &&
      !copy_tree(work, host.work, false, -1, context.work_bytes)) {
    // Holes in files take no room here, and folders can be deep: what is more than may be kept is the program's doing.
    if (errno != EFBIG) report_and_exit(context, JailStage::kCopyOut);
    report.reason = StopReason::kDiskLimit;
  }
  send_report(context, report);
  _exit(0);
}

}  // namespace

void run_namespaces(const JailContext& context) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) report_and_exit(context, JailStage::kFork);
  if (getppid() != context.caller) _exit(127);
  setsid();
  reset_signals();
  close_all_but({context.stdio.in, context.stdio.out, context.stdio.err, context.report, context.control,
                 context.map_request, context.map_answer});
  if (unshare(CLONE_NEWUSER) != 0) report_and_exit(context, JailStage::kUserNamespace);
  char users = 0;
  if (write(context.map_request, "m", 1) != 1 || !read_exactly(context.map_answer, &users, 1) || users == 'x') {
    errno = EPERM;
    report_and_exit(context, JailStage::kUserMap);
  }
  if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID) != 0) {
    report_and_exit(context, JailStage::kOtherNamespaces);
  }
  int alive[2];
  if (pipe2(alive, O_CLOEXEC) != 0) report_and_exit(context, JailStage::kFork);
  const pid_t init = fork();
  if (init < 0) report_and_exit(context, JailStage::kFork);
  if (init == 0) {
    close(alive[1]);
    init_main(context, users == '2', alive[0]);
  }
  close_all_but({context.control, alive[1]});
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(init, &status, WNOHANG);
    if (ended == init) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 126);
    if (ended < 0 && errno != EINTR) _exit(126);
    struct pollfd control {context.control, POLLIN, 0};
    // SIGCHLD is at its default, so it does not interrupt poll: look every two milliseconds.
    if (poll(&control, 1, 2) > 0) {
      kill(init, SIGKILL);
      while (waitpid(init, &status, 0) < 0 && errno == EINTR) {
      }
      _exit(126);
    }
  }
}

}  // namespace kw
