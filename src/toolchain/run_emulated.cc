// `kw emu run`: starts a program that kw nvcc built, on this terminal.
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/subprocess.h"
#include "toolchain/toolchain.h"

extern char** environ;

namespace kw::toolchain {

Result<int> run_emulated(const EmulatedRun& run) {
  if (run.command.empty()) return fail(ErrorCode::kInvalid, "no program was named: kw emu run ./app ARGS");
  KW_TRY(const std::string program, find_program(run.command[0]));
  // The count of findings comes back through memory that has a name only below /proc: nothing is left behind however
  // this process ends.
  const int status = memfd_create("kw-emu-status", MFD_CLOEXEC);
  if (status < 0) return fail(ErrorCode::kIo, "no memory file for the status of {}: {}", program, std::strerror(errno));
  const std::unique_ptr<const int, void (*)(const int*)> closed_at_end(&status, [](const int* fd) { close(*fd); });
  const std::string status_path = fmt::format("/proc/{}/fd/{}", getpid(), status);

  std::vector<std::string> environment;
  for (char** each = environ; *each != nullptr; ++each)
    if (std::strncmp(*each, "KW_EMU_", 7) != 0) environment.emplace_back(*each);
  std::string check = run.check_races ? "race" : "";
  if (run.check_uninitialised) check += check.empty() ? "uninit" : ",uninit";
  environment.push_back("KW_EMU_CHECK=" + check);
  environment.push_back(fmt::format("KW_EMU_COUNT={}", run.count ? 1 : 0));
  environment.push_back(fmt::format("KW_EMU_THREADS={}", run.threads));
  environment.push_back(fmt::format("KW_EMU_SEED={}", run.schedule_seed));
  environment.push_back("KW_EMU_STATUS=" + status_path);
  if (!run.json_report.empty()) environment.push_back("KW_EMU_JSON=" + run.json_report);

  std::vector<char*> argv, envp;
  for (const std::string& argument : run.command) argv.push_back(const_cast<char*>(argument.c_str()));
  for (const std::string& variable : environment) envp.push_back(const_cast<char*>(variable.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  pid_t child = 0;
  // A program of its own: what this one ignores (a reader that has gone) it need not.
  posix_spawnattr_t attributes;
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawn(&child, program.c_str(), nullptr, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return fail(ErrorCode::kIo, "{} cannot be started: {}", program, std::strerror(error));
  int state = 0;
  while (waitpid(child, &state, 0) < 0)
    if (errno != EINTR) return fail(ErrorCode::kIo, "{} was lost: {}", program, std::strerror(errno));
  char findings[64] = {};
  if (pread(status, findings, sizeof findings - 1, 0) <= 0)
    return fail(ErrorCode::kInvalid, "{} does not use the emulated CUDA runtime (or ended before it was loaded); build it with kw nvcc", program);
  const int code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return code == 0 && std::strtoull(findings, nullptr, 10) != 0 ? 1 : code;
}

}  // namespace kw::toolchain
