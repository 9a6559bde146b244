#include "base/jail.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "base/jail_process.h"

namespace kw {
namespace {

std::string_view describe_stage(JailStage stage) {
  switch (stage) {
    case JailStage::kFinished: return "run";
    case JailStage::kUserNamespace: return "make a user namespace";
    case JailStage::kUserMap: return "map users into the namespace";
    case JailStage::kOtherNamespaces: return "make mount, pid, net, ipc and uts namespaces";
    case JailStage::kFork: return "start a process";
    case JailStage::kBind: return "bind";
    case JailStage::kRoot: return "make a private root";
    case JailStage::kWorkFolder: return "make the writable folder";
    case JailStage::kProc: return "mount /proc";
    case JailStage::kDevices: return "bind devices";
    case JailStage::kPivot: return "change the root";
    case JailStage::kCopyIn: return "copy the folder in";
    case JailStage::kLandlock: return "apply Landlock rules";
    case JailStage::kStdio: return "connect the standard streams";
    case JailStage::kFolder: return "enter the folder";
    case JailStage::kUser: return "drop privileges";
    case JailStage::kLimits: return "set resource limits";
    case JailStage::kFilter: return "install the seccomp filter";
    case JailStage::kExec: return "run the program";
    case JailStage::kCopyOut: return "copy the results out";
  }
  return "run";
}

tl::unexpected<Error> stage_error(const JailReport& report, const JailContext& context) {
  std::string what{describe_stage(report.stage)};
  if (report.stage == JailStage::kBind && report.path_index >= 0 &&
      static_cast<size_t>(report.path_index) < context.read_only.size()) {
    what += " " + context.read_only[static_cast<size_t>(report.path_index)];
  }
  if (report.stage == JailStage::kFolder) what += " " + context.cwd;
  if (report.stage == JailStage::kExec) what += " " + context.image->path();
  const bool absent = report.error == ENOENT || report.error == ENOTDIR;
  const bool named = report.stage == JailStage::kExec || report.stage == JailStage::kFolder;
  const bool copying = report.stage == JailStage::kCopyIn || report.stage == JailStage::kCopyOut;
  Error error;
  error.code = absent && named ? ErrorCode::kNotFound : ErrorCode::kIo;
  if (copying && (report.error == EFBIG || report.error == ENOSPC)) error.code = ErrorCode::kLimit;
  error.message = fmt::format("jail: cannot {}: {}", what, std::strerror(report.error));
  if (error.code == ErrorCode::kNotFound) error.notes.push_back("only the paths that were listed exist in the jail");
  if (error.code == ErrorCode::kLimit) {
    error.notes.push_back(fmt::format("{} may hold {} bytes, 65536 entries and 48 levels of folders",
                                      context.work_dir, context.work_bytes));
  }
  return tl::unexpected<Error>(std::move(error));
}

bool write_text(const std::string& path, std::string_view text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Maps the supervisor's users. As root, the command gets a user of its own (nobody outside), because the kernel
// does not count root's processes and root may read and write root's files; it cannot then read what is listed but
// private to root. Otherwise it stays who we are.
char map_users(pid_t supervisor, bool private_paths) {
  const std::string base = fmt::format("/proc/{}/", supervisor);
  if (geteuid() == 0 && !private_paths && write_text(base + "uid_map", "0 0 1\n1000 65534 1\n") &&
      write_text(base + "gid_map", "0 0 1\n1000 65534 1\n")) {
    return '2';
  }
  write_text(base + "setgroups", "deny");
  const bool good = write_text(base + "uid_map", fmt::format("1000 {} 1\n", geteuid())) &&
                    write_text(base + "gid_map", fmt::format("1000 {} 1\n", getegid()));
  return good ? '1' : 'x';
}

struct Pipe {
  UniqueFd read_end, write_end;
  bool make() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return false;
    read_end.reset(fds[0]);
    write_end.reset(fds[1]);
    return true;
  }
};

// Waits for the supervisor; kills it when it does not end by itself soon after it was told to.
int reap(pid_t supervisor) {
  int status = 0;
  for (int tick = 0;; ++tick) {
    const pid_t ended = waitpid(supervisor, &status, WNOHANG);
    if (ended == supervisor || (ended < 0 && errno != EINTR)) return status;
    if (tick == 10000) kill(supervisor, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result<ProcessOutcome> run_in(JailKind kind, const Command& command, JailContext context) {
  KW_TRY(const ExecImage image, ExecImage::make(command));
  KW_TRY(ChildPipes pipes, ChildPipes::create());
  Pipe report, control, map_request, map_answer;
  if (!report.make() || !control.make() || !map_request.make() || !map_answer.make()) {
    return fail(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  }
  context.image = &image;
  context.stdio = pipes.child_side();
  context.caller = getpid();
  context.report = report.write_end.get();
  context.control = control.read_end.get();
  context.map_request = map_request.write_end.get();
  context.map_answer = map_answer.read_end.get();

  const pid_t supervisor = fork();
  if (supervisor < 0) return fail(ErrorCode::kIo, "cannot start a process: {}", std::strerror(errno));
  if (supervisor == 0) {
    if (kind == JailKind::kNamespaces) run_namespaces(context);
    run_landlock(context);
  }
  pipes.close_child_side();
  if (kind == JailKind::kNamespaces) {
    // Either the request comes or the supervisor has given up (its report is there).
    struct pollfd fds[2] = {{map_request.read_end.get(), POLLIN, 0}, {report.read_end.get(), POLLIN, 0}};
    while (poll(fds, 2, 10000) < 0 && errno == EINTR) {
    }
    if (fds[0].revents & POLLIN) {
      const char users = map_users(supervisor, context.private_paths);
      const ssize_t ignored = write(map_answer.write_end.get(), &users, 1);
      static_cast<void>(ignored);
    }
  }
  PumpResult pumped = pipes.pump(command, supervisor, [&] {
    const ssize_t ignored = write(control.write_end.get(), "x", 1);
    static_cast<void>(ignored);
  });
  reap(supervisor);

  // Other threads' children may hold copies of the write end, so there may be no end of file to wait for.
  fcntl(report.read_end.get(), F_SETFL, O_NONBLOCK);
  JailReport result;
  const bool reported = read_exactly(report.read_end.get(), &result, sizeof result);
  if (reported && result.stage != JailStage::kFinished) return stage_error(result, context);
  if (!reported && pumped.reason == StopReason::kExited) {
    return fail(ErrorCode::kIo, "the jail around {} ended without a report; it may have been killed from outside",
                image.path());
  }
  if (pumped.reason == StopReason::kExited) pumped.reason = result.reason;
  return make_outcome(std::move(pumped), result.wait_status, result.usage, context.limits);
}

Status check_path(const std::string& path) {
  if (path.empty() || path[0] != '/' || path.find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalid, "jail: path \"{}\" must be absolute", path);
  }
  if (path.find("/../") != std::string::npos || path.ends_with("/..")) {
    return fail(ErrorCode::kInvalid, "jail: path {} must not contain ..", path);
  }
  return {};
}

// Without trailing and doubled slashes and "/./", which make a place harder to make.
std::string clean(const std::string& path) {
  std::string out;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = std::string_view(path).substr(at, end - at);
    if (!part.empty() && part != ".") out.append("/").append(part);
    at = end + 1;
  }
  return out.empty() ? "/" : out;
}

Result<JailContext> make_context(const Command& command, const JailOptions& options) {
  JailContext context;
  KW_TRY_VOID(check_path(options.work_dir));
  context.work_dir = clean(options.work_dir);
  struct stat info {};
  if (stat(context.work_dir.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || context.work_dir == "/") {
    return fail(ErrorCode::kInvalid, "jail: {} is not a folder that can be the writable one", options.work_dir);
  }
  for (const std::string& path : options.read_only) {
    KW_TRY_VOID(check_path(path));
    std::string cleaned = clean(path);
    if (cleaned == "/") return fail(ErrorCode::kInvalid, "jail: / cannot be listed as readable; list what is needed");
    if (stat(cleaned.c_str(), &info) != 0) continue;
    const mode_t needed = S_ISDIR(info.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    if ((info.st_mode & needed) != needed) context.private_paths = true;
    context.read_only.push_back(std::move(cleaned));
  }
  // Outer folders first, so that inner binds land on top of them.
  std::sort(context.read_only.begin(), context.read_only.end());
  context.read_only.erase(std::unique(context.read_only.begin(), context.read_only.end()), context.read_only.end());
  context.cwd = command.cwd.empty() ? context.work_dir : command.cwd;
  context.work_bytes = std::max<uint64_t>(options.work_bytes, 1u << 16);
  context.memory_bytes = options.memory_bytes;
  context.limits = command.limits;
  ProcessLimits& limits = context.limits;
  if (limits.address_space_bytes == 0) limits.address_space_bytes = 16ull << 30;
  if (limits.file_bytes == 0) limits.file_bytes = context.work_bytes;
  if (limits.processes == 0) limits.processes = 256;
  if (limits.open_files == 0) limits.open_files = 512;
  if (limits.cpu_seconds == 0) {
    limits.cpu_seconds = static_cast<uint64_t>(std::ceil(std::clamp(command.wall_seconds, 0.0, 86400.0) * 8)) + 1;
  }
  return context;
}

Command complete(const Command& command, const JailContext& context) {
  Command full = command;
  if (!full.env) {
    full.env = std::map<std::string, std::string>{
        {"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", context.work_dir}, {"USER", "nobody"}, {"LANG", "C.UTF-8"}};
  }
  (*full.env)["TMPDIR"] = context.work_dir + "/.tmp";
  full.limits = context.limits;
  return full;
}

std::string problem_of(JailKind kind) {
  auto folder = TempDir::create("kw-probe");
  if (!folder) return folder.error().message;
  Command command;
  command.argv = {"/bin/true"};
  command.wall_seconds = 20;
  JailOptions options;
  options.read_only = jail_system_paths();
  options.work_dir = folder->path();
  options.work_bytes = 1 << 20;
  auto context = make_context(command, options);
  if (!context) return context.error().message;
  auto outcome = run_in(kind, complete(command, *context), *context);
  if (!outcome) return outcome.error().message;
  return outcome->succeeded() ? "" : "a trial run: " + describe(*outcome);
}

JailSupport find_support() {
  JailSupport support;
  support.namespaces_problem = problem_of(JailKind::kNamespaces);
  if (support.namespaces_problem.empty()) {
    support.kind = JailKind::kNamespaces;
    support.landlock_problem = landlock_problem();
    return support;
  }
  support.landlock_problem = landlock_problem();
  if (support.landlock_problem.empty()) support.landlock_problem = problem_of(JailKind::kLandlock);
  if (support.landlock_problem.empty()) support.kind = JailKind::kLandlock;
  const auto file_says_1 = [](const char* path) {
    auto text = read_file(path, 64);
    return text && text->starts_with("1");
  };
  if (file_says_1("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")) {
    support.remedy =
        "AppArmor restricts user namespaces here; allow them with: "
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
  } else {
    support.remedy =
        "allow user namespaces (sudo sysctl -w user.max_user_namespaces=10000; in a container: "
        "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
        "--security-opt systempaths=unconfined), or use a kernel of 5.13 or later with Landlock";
  }
  return support;
}

}  // namespace

std::vector<std::string> jail_system_paths() {
  std::vector<std::string> paths;
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives",
                           "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"}) {
    if (access(path, F_OK) == 0) paths.emplace_back(path);
  }
  return paths;
}

Result<ProcessOutcome> run_jailed(const Command& command, const JailOptions& options) {
  JailKind kind = options.kind;
  if (kind == JailKind::kNone) {
    const JailSupport& support = jail_support();
    kind = support.kind;
    if (kind == JailKind::kNone) {
      Error error;
      error.code = ErrorCode::kUnsupported;
      error.message = fmt::format("no jail for {}: {}; {}", command.argv.empty() ? "" : command.argv[0],
                                  support.namespaces_problem, support.landlock_problem);
      error.notes.push_back(support.remedy);
      return tl::unexpected<Error>(std::move(error));
    }
  }
  KW_TRY(JailContext context, make_context(command, options));
  return run_in(kind, complete(command, context), context);
}

const JailSupport& jail_support() {
  static const JailSupport support = find_support();
  return support;
}

std::string_view name(JailKind kind) {
  switch (kind) {
    case JailKind::kNone: return "none";
    case JailKind::kNamespaces: return "namespaces";
    case JailKind::kLandlock: return "Landlock";
  }
  return "none";
}

}  // namespace kw
