#include "base/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/process_io.h"
#include "base/unique_fd.h"

namespace kw {
namespace {

// What the child could not do before exec, sent through a pipe that exec closes.
struct StartFailure {
  enum Step : int { kFolder, kExec, kSetup } step;
  int error;
};

[[noreturn]] void child_main(const ExecImage& image, const ChildStdio& stdio, const std::string& cwd,
                             const ProcessLimits& limits, pid_t parent, int report) {
  const auto give_up = [report](StartFailure::Step step) {
    const StartFailure failure{step, errno};
    const ssize_t ignored = write(report, &failure, sizeof failure);
    static_cast<void>(ignored);
    _exit(127);
  };
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(StartFailure::kSetup);
  if (getppid() != parent) _exit(127);  // it died before the line above
  setsid();
  if (!stdio.install()) give_up(StartFailure::kSetup);
  if (!cwd.empty() && chdir(cwd.c_str()) != 0) give_up(StartFailure::kFolder);
  reset_signals();
  if (!apply_limits(limits)) give_up(StartFailure::kSetup);
  image.exec();
  give_up(StartFailure::kExec);
  _exit(127);
}

}  // namespace

Result<ProcessOutcome> run_process(const Command& command) {
  KW_TRY(const ExecImage image, ExecImage::make(command));
  KW_TRY(ChildPipes pipes, ChildPipes::create());
  int report_fds[2];
  if (pipe2(report_fds, O_CLOEXEC) != 0) return fail(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  UniqueFd report_read(report_fds[0]);
  UniqueFd report_write(report_fds[1]);

  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return fail(ErrorCode::kIo, "cannot start {}: {}", command.argv[0], std::strerror(errno));
  if (child == 0) {
    child_main(image, pipes.child_side(), command.cwd, command.limits, parent, report_write.get());
  }
  report_write.reset();
  pipes.close_child_side();

  StartFailure failure{};
  if (read_exactly(report_read.get(), &failure, sizeof failure)) {
    int ignored = 0;
    while (waitpid(child, &ignored, 0) < 0 && errno == EINTR) {
    }
    const std::string reason = std::strerror(failure.error);
    const bool absent = failure.error == ENOENT || failure.error == ENOTDIR;
    const ErrorCode code = absent ? ErrorCode::kNotFound : ErrorCode::kIo;
    switch (failure.step) {
      case StartFailure::kFolder: return fail(code, "cannot enter folder {}: {}", command.cwd, reason);
      case StartFailure::kExec: return fail(code, "cannot run {}: {}", image.path(), reason);
      case StartFailure::kSetup: return fail(code, "cannot prepare a process for {}: {}", command.argv[0], reason);
    }
  }
  report_read.reset();

  PumpResult pumped = pipes.pump(command, child);
  // Whatever it left running must not outlive it; the group is there as long as its leader is not reaped.
  kill(-child, SIGKILL);
  int status = 0;
  struct rusage usage {};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  return make_outcome(std::move(pumped), status, usage, command.limits);
}

Result<std::string> find_program(const std::string& name) {
  const auto executable = [](const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
  };
  if (name.empty()) return fail(ErrorCode::kInvalid, "the name of the program is empty");
  if (name.find('\0') != std::string::npos) return fail(ErrorCode::kInvalid, "the name of the program has a NUL");
  if (name.find('/') != std::string::npos) {
    char resolved[PATH_MAX];
    if (executable(name) && realpath(name.c_str(), resolved) != nullptr) {
      // Absolute, but symbolic links stay: compilers find their parts beside the name they were called by.
      if (name[0] == '/') return name;
      char cwd[PATH_MAX];
      if (getcwd(cwd, sizeof cwd) != nullptr) return std::string(cwd) + "/" + name;
    }
    return fail(ErrorCode::kNotFound, "{} is not a program that can be run", name);
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string candidate = std::string(rest.substr(0, colon)) + "/" + name;
    // Relative entries are left out: what runs must not depend on the current folder.
    if (candidate[0] == '/' && executable(candidate)) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  if (executable(name)) return fail(ErrorCode::kNotFound, "{0} is not on PATH; the one in this folder is ./{0}", name);
  return fail(ErrorCode::kNotFound, "{} is not on PATH; install it or add its folder to PATH", name);
}

}  // namespace kw
