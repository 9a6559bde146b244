#include "base/process_io.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

extern char** environ;

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

// A child that ended stays a zombie until it is waited for, so that its process id cannot be taken by another.
bool has_ended(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

// Reads what is there; false when the other end is closed.
bool drain(int fd, std::string& into, uint64_t limit, bool& exceeded) {
  char buffer[65536];
  while (true) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n == 0) return false;
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN;
    }
    const uint64_t room = limit - std::min<uint64_t>(limit, into.size());
    const uint64_t taken = std::min<uint64_t>(room, static_cast<uint64_t>(n));
    into.append(buffer, taken);
    if (taken < static_cast<uint64_t>(n)) {
      exceeded = true;
      return true;
    }
  }
}

double seconds_of(const struct timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

Result<ExecImage> ExecImage::make(const Command& command) {
  if (command.argv.empty() || command.argv[0].empty()) {
    return fail(ErrorCode::kInvalid, "a command needs a program: argv is empty");
  }
  ExecImage image;
  for (const std::string& argument : command.argv) image.strings_.push_back(argument);
  if (command.env) {
    for (const auto& [key, value] : *command.env) image.strings_.push_back(key + "=" + value);
  }
  for (const std::string& text : image.strings_) {
    if (text.find('\0') != std::string::npos) {
      return fail(ErrorCode::kInvalid, "an argument or environment value of {} has a NUL byte", command.argv[0]);
    }
  }
  if (command.cwd.find('\0') != std::string::npos) return fail(ErrorCode::kInvalid, "the folder's name has a NUL byte");
  if (!(command.wall_seconds > 0)) return fail(ErrorCode::kInvalid, "the deadline must be more than 0 seconds");
  if (command.argv[0].find('/') != std::string::npos) {
    image.path_ = command.argv[0];
  } else {
    KW_TRY(image.path_, find_program(command.argv[0]));
  }
  for (size_t i = 0; i < image.strings_.size(); ++i) {
    (i < command.argv.size() ? image.argv_ : image.env_).push_back(image.strings_[i].data());
  }
  if (!command.env) {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) image.env_.push_back(*entry);
  }
  image.argv_.push_back(nullptr);
  image.env_.push_back(nullptr);
  return image;
}

void ExecImage::exec() const { execve(path_.c_str(), argv_.data(), env_.data()); }

bool ChildStdio::install() const {
  // Pipes were made with numbers above 2 (ChildPipes::create), so no dup2 overwrites a later source.
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) return false;
#ifdef SYS_close_range
  constexpr unsigned kCloseOnExec = 1u << 2;  // CLOSE_RANGE_CLOEXEC
  syscall(SYS_close_range, 3u, ~0u, kCloseOnExec);
#endif
  return true;
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool apply_limits(const ProcessLimits& limits) {
  const auto set = [](auto what, uint64_t soft, uint64_t hard) {
    struct rlimit now {};
    if (getrlimit(what, &now) != 0) return false;
    // A limit inherited from outside that is lower still stands.
    struct rlimit wanted {};
    wanted.rlim_max = std::min<rlim_t>(now.rlim_max, hard);
    wanted.rlim_cur = std::min<rlim_t>(wanted.rlim_max, soft);
    return setrlimit(what, &wanted) == 0;
  };
  bool good = set(RLIMIT_CORE, 0, 0);
  // SIGXCPU at the soft limit tells us why; SIGKILL a second later ends one that ignores it.
  if (limits.cpu_seconds) good = good && set(RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1);
  if (limits.address_space_bytes) {
    good = good && set(RLIMIT_AS, limits.address_space_bytes, limits.address_space_bytes);
  }
  if (limits.file_bytes) good = good && set(RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes);
  if (limits.processes) good = good && set(RLIMIT_NPROC, limits.processes, limits.processes);
  if (limits.open_files) good = good && set(RLIMIT_NOFILE, limits.open_files, limits.open_files);
  return good;
}

bool read_exactly(int fd, void* data, size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = read(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

Result<ChildPipes> ChildPipes::create() {
  ChildPipes pipes;
  const auto make = [](UniqueFd& read_end, UniqueFd& write_end) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return false;
    read_end.reset(fds[0]);
    write_end.reset(fds[1]);
    // A process started with a standard stream closed would get its number here.
    for (UniqueFd* fd : {&read_end, &write_end}) {
      if (fd->get() > 2) continue;
      const int higher = fcntl(fd->get(), F_DUPFD_CLOEXEC, 3);
      if (higher < 0) return false;
      fd->reset(higher);
    }
    return true;
  };
  if (!make(pipes.in_read_, pipes.in_write_) || !make(pipes.out_read_, pipes.out_write_) ||
      !make(pipes.err_read_, pipes.err_write_)) {
    return fail(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  }
  for (const int fd : {pipes.in_write_.get(), pipes.out_read_.get(), pipes.err_read_.get()}) {
    fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  return pipes;
}

void ChildPipes::close_child_side() {
  in_read_.reset();
  out_write_.reset();
  err_write_.reset();
}

PumpResult ChildPipes::pump(const Command& command, pid_t child, const std::function<void()>& stop) {
  PumpResult result;
  const Clock::time_point start = Clock::now();
  const double allowed = std::min(command.wall_seconds, 86400.0);
  const auto elapsed = [start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto stop_for = [&](StopReason reason) {
    result.reason = reason;
    if (stop) {
      stop();
    } else {
      kill(-child, SIGKILL);
      kill(child, SIGKILL);  // it may not have become a group leader yet
    }
  };

  // Writing to a child that has closed its input must give EPIPE, not a signal; the mask is this thread's only.
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);

#ifdef SYS_pidfd_open
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
#else
  const UniqueFd pidfd;
#endif
  size_t written = 0;
  if (command.stdin_text.empty()) in_write_.reset();
  bool ended = false;
  while (!ended) {
    ended = has_ended(child);
    struct pollfd fds[4] = {{in_write_.get(), POLLOUT, 0},
                            {out_read_.get(), POLLIN, 0},
                            {err_read_.get(), POLLIN, 0},
                            {pidfd.get(), POLLIN, 0}};
    const double left = allowed - elapsed();
    if (!ended && left <= 0) {
      stop_for(StopReason::kDeadline);
      break;
    }
    if (!ended && command.cancel != nullptr && command.cancel->load(std::memory_order_relaxed)) {
      stop_for(StopReason::kCancelled);
      break;
    }
    // Without pidfd the end is noticed by looking every few milliseconds; a cancellation always is.
    const double look_ms = !pidfd ? 5.0 : command.cancel != nullptr ? 50.0 : 1e6;
    const double wait_ms = ended ? 0 : std::min(std::ceil(left * 1e3), look_ms);
    if (poll(fds, 4, static_cast<int>(wait_ms)) < 0 && errno != EINTR) {
      stop_for(StopReason::kDeadline);
      break;
    }
    if (in_write_ && fds[0].revents != 0) {
      const ssize_t n =
          write(in_write_.get(), command.stdin_text.data() + written, command.stdin_text.size() - written);
      if (n > 0) written += static_cast<size_t>(n);
      const bool broken = n < 0 && errno != EAGAIN && errno != EINTR;
      if (broken || written == command.stdin_text.size()) in_write_.reset();
    }
    bool exceeded = false;
    if (out_read_ && !drain(out_read_.get(), result.out, command.stdout_limit_bytes, exceeded)) out_read_.reset();
    if (err_read_ && !drain(err_read_.get(), result.err, command.stderr_limit_bytes, exceeded)) err_read_.reset();
    if (exceeded) {
      stop_for(StopReason::kOutputLimit);
      break;
    }
  }
  result.wall_seconds = elapsed();
  if (result.reason == StopReason::kDeadline) {
    bool ignored = false;
    if (out_read_) drain(out_read_.get(), result.out, command.stdout_limit_bytes, ignored);
    if (err_read_) drain(err_read_.get(), result.err, command.stderr_limit_bytes, ignored);
  }
  const struct timespec none {};
  while (sigtimedwait(&pipe_signal, nullptr, &none) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  in_write_.reset();
  out_read_.reset();
  err_read_.reset();
  return result;
}

ProcessOutcome make_outcome(PumpResult pumped, int wait_status, const struct rusage& usage,
                            const ProcessLimits& limits) {
  ProcessOutcome outcome;
  outcome.reason = pumped.reason;
  outcome.out = std::move(pumped.out);
  outcome.err = std::move(pumped.err);
  outcome.wall_seconds = pumped.wall_seconds;
  outcome.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  outcome.max_resident_bytes = static_cast<uint64_t>(std::max(usage.ru_maxrss, 0L)) * 1024;
  if (outcome.reason != StopReason::kExited) return outcome;
  if (WIFEXITED(wait_status)) {
    outcome.exit_code = WEXITSTATUS(wait_status);
    return outcome;
  }
  outcome.signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  outcome.reason = StopReason::kSignalled;
  const bool out_of_time = outcome.signal == SIGXCPU ||
                           (outcome.signal == SIGKILL && limits.cpu_seconds > 0 &&
                            outcome.cpu_seconds >= static_cast<double>(limits.cpu_seconds));
  if (out_of_time) outcome.reason = StopReason::kCpuLimit;
  if (outcome.signal == SIGXFSZ) outcome.reason = StopReason::kFileLimit;
  return outcome;
}

std::string describe(const ProcessOutcome& outcome) {
  switch (outcome.reason) {
    case StopReason::kExited: return fmt::format("exit code {}", outcome.exit_code);
    case StopReason::kSignalled: {
      const char* abbreviation = sigabbrev_np(outcome.signal);
      return abbreviation != nullptr ? fmt::format("killed by SIG{}", abbreviation)
                                     : fmt::format("killed by signal {}", outcome.signal);
    }
    case StopReason::kDeadline: return fmt::format("stopped after {:.1f} s: it did not end", outcome.wall_seconds);
    case StopReason::kCancelled: return "stopped: cancelled";
    case StopReason::kOutputLimit: return "stopped: it wrote too much to its standard output or error";
    case StopReason::kCpuLimit: return fmt::format("stopped: it used {:.1f} s of processor time", outcome.cpu_seconds);
    case StopReason::kFileLimit: return "stopped: it wrote too large a file";
    case StopReason::kMemoryLimit: return "stopped: it used too much memory";
    case StopReason::kProcessLimit: return "stopped: it started too many processes";
    case StopReason::kDiskLimit: return "stopped: it wrote too much to its folder";
  }
  return "ended";
}

}  // namespace kw
