#include "base/jail.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"

namespace kw {
namespace {

// The same suite over both kinds of jail; one that this machine lacks is skipped.
class Jail : public testing::TestWithParam<JailKind> {
 protected:
  void SetUp() override {
    const JailSupport& support = jail_support();
    if (GetParam() == JailKind::kNamespaces && support.kind != JailKind::kNamespaces) {
      GTEST_SKIP() << support.namespaces_problem;
    }
    if (GetParam() == JailKind::kLandlock && !support.landlock_problem.empty()) {
      GTEST_SKIP() << support.landlock_problem;
    }
    auto folder = TempDir::create("kw-jail-test");
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
    options_.kind = GetParam();
    options_.read_only = jail_system_paths();
    options_.read_only.push_back(KW_HOSTILE_PROGRAM);
    options_.work_dir = folder_->path();
    options_.work_bytes = 32 << 20;
    options_.memory_bytes = 256 << 20;
  }

  Command command(const std::string& act, const std::string& argument = "") const {
    Command command;
    command.argv = {KW_HOSTILE_PROGRAM, act, argument};
    command.wall_seconds = 20;
    command.limits.processes = 40;
    return command;
  }

  ProcessOutcome run(const Command& command) {
    auto outcome = run_jailed(command, options_);
    if (!outcome) {
      ADD_FAILURE() << format_error(outcome.error());
      return {};
    }
    return std::move(*outcome);
  }

  void expect_refused(const std::string& act, const std::string& argument = "") {
    const ProcessOutcome outcome = run(command(act, argument));
    EXPECT_EQ(outcome.reason, StopReason::kExited) << describe(outcome);
    EXPECT_EQ(outcome.exit_code, 1) << act << " " << argument << ": " << outcome.out << outcome.err;
  }

  std::optional<TempDir> folder_;
  JailOptions options_;
};

TEST_P(Jail, GivesWorkAndTakesResults) {
  ASSERT_TRUE(write_file(*folder_ / "input", "hello"));
  const ProcessOutcome outcome = run(command("work", folder_->path()));
  EXPECT_TRUE(outcome.succeeded()) << describe(outcome) << outcome.out << outcome.err;
  auto result = read_file(*folder_ / "sub/output");
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, "result");
}

TEST_P(Jail, ReportsExitCodesAndCrashes) {
  EXPECT_EQ(run(command("exit", "7")).exit_code, 7);
  const ProcessOutcome crash = run(command("abort"));
  EXPECT_EQ(crash.reason, StopReason::kSignalled) << describe(crash);
}

TEST_P(Jail, EndsAnInfiniteLoopAtTheDeadline) {
  Command loop = command("loop");
  loop.wall_seconds = 0.3;
  const ProcessOutcome outcome = run(loop);
  EXPECT_EQ(outcome.reason, StopReason::kDeadline) << describe(outcome);
  EXPECT_LT(outcome.wall_seconds, 5);
}

TEST_P(Jail, EndsAnInfiniteLoopAtTheCpuLimit) {
  Command loop = command("loop");
  loop.limits.cpu_seconds = 1;
  EXPECT_EQ(run(loop).reason, StopReason::kCpuLimit);
}

TEST_P(Jail, ContainsAForkBomb) {
  const ProcessOutcome outcome = run(command("fork"));
  const bool fork_failed = outcome.reason == StopReason::kExited && outcome.exit_code == 1;
  EXPECT_TRUE(fork_failed || outcome.reason == StopReason::kProcessLimit) << describe(outcome) << outcome.out;
}

TEST_P(Jail, EndsAForkBombThatGoesOn) {
  Command bomb = command("fork-for-ever");
  bomb.wall_seconds = 0.5;
  const ProcessOutcome outcome = run(bomb);
  EXPECT_TRUE(outcome.reason == StopReason::kDeadline || outcome.reason == StopReason::kProcessLimit)
      << describe(outcome);
}

// Files of holes take no room where they are made, and all of it where they are copied to.
TEST_P(Jail, SparseFilesAreNoMistakeOfOurs) {
  if (GetParam() != JailKind::kNamespaces) GTEST_SKIP() << "nothing is copied out";
  for (const char* script : {"truncate -s 20M a b c", "mkdir -p $(printf 'd/%.0s' $(seq 1 900))"}) {
    Command sparse = command("");
    sparse.argv = {"/bin/sh", "-c", script};
    EXPECT_EQ(run(sparse).reason, StopReason::kDiskLimit) << script;
  }
}

TEST_P(Jail, ContainsADiskFiller) {
  EXPECT_EQ(run(command("disk", folder_->path())).reason, StopReason::kDiskLimit);
  // What was written before does not pile up beyond the limit on the host (plus what fits between two looks).
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_->path())) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  EXPECT_LT(bytes, 1u << 30);
}

TEST_P(Jail, LimitsASingleFile) {
  Command large = command("large-file", folder_->path() + "/big");
  large.limits.file_bytes = 1 << 20;
  EXPECT_EQ(run(large).reason, StopReason::kFileLimit);
}

TEST_P(Jail, StopsAMemoryEater) {
  EXPECT_EQ(run(command("memory")).reason, StopReason::kMemoryLimit);
  EXPECT_EQ(run(command("memory-in-children")).reason, StopReason::kMemoryLimit);
}

TEST_P(Jail, RefusesMemoryBeyondTheAddressSpace) {
  Command eater = command("memory");
  eater.limits.address_space_bytes = 128 << 20;
  const ProcessOutcome outcome = run(eater);
  EXPECT_EQ(outcome.exit_code, 1) << describe(outcome);
}

TEST_P(Jail, HasNoSockets) { expect_refused("socket"); }

TEST_P(Jail, HidesTheHostsFiles) {
  for (const char* path : {"/etc/passwd", "/etc/shadow", "/proc/1/environ", "/sys/kernel", "/root", "/home", "/var"}) {
    expect_refused("read", path);
  }
  if (const char* home = std::getenv("HOME"); home != nullptr) expect_refused("read", home);
  expect_refused("read", KW_SOURCE_DIR "/CMakeLists.txt");
  expect_refused("read", fmt::format("/proc/{}/environ", getpid()));
}

TEST_P(Jail, ReadOnlyMeansReadOnly) {
  auto outside = TempDir::create("kw-jail-outside");
  ASSERT_TRUE(outside);
  const std::string file = *outside / "listed";
  ASSERT_TRUE(write_file(file, "untouched"));
  options_.read_only.push_back(outside->path());
  EXPECT_EQ(run(command("read", file)).exit_code, 0);
  expect_refused("write", file);
  expect_refused("truncate", file);
  expect_refused("write", *outside / "new");
  expect_refused("write", "/tmp/kw-jail-must-not-exist");
  EXPECT_EQ(*read_file(file), "untouched");
}

TEST_P(Jail, CannotSignalOutside) {
  const pid_t bystander = fork();
  if (bystander == 0) {
    for (;;) pause();
  }
  expect_refused("kill", std::to_string(bystander));
  expect_refused("kill", std::to_string(getpid()));
  int status = 0;
  EXPECT_EQ(waitpid(bystander, &status, WNOHANG), 0) << "the bystander was killed";
  kill(bystander, SIGKILL);
  waitpid(bystander, &status, 0);
}

TEST_P(Jail, RefusesPrivilegedCalls) {
  const ProcessOutcome outcome = run(command("privileged"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
}

TEST_P(Jail, StopsAFlood) {
  for (const char* act : {"flood", "flood-errors"}) {
    Command flood = command(act);
    flood.stdout_limit_bytes = 1 << 20;
    flood.stderr_limit_bytes = 1 << 20;
    const ProcessOutcome outcome = run(flood);
    EXPECT_EQ(outcome.reason, StopReason::kOutputLimit) << describe(outcome);
    EXPECT_LE(outcome.out.size() + outcome.err.size(), 1u << 20);
  }
}

TEST_P(Jail, LeavesNoProcessBehind) {
  const std::string mark = *folder_ / "mark";
  const ProcessOutcome outcome = run(command("leave-behind", mark));
  EXPECT_TRUE(outcome.succeeded()) << describe(outcome);
  const auto size = [&] { return read_file(mark).value_or("").size(); };
  const size_t before = size();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(size(), before);
}

// Killed without warning, a caller takes its jail along.
TEST_P(Jail, DiesWithItsCaller) {
  const pid_t caller = fork();
  if (caller == 0) {
    Command loop = command("loop");
    loop.argv[2] = folder_->path();  // so that it can be recognised
    static_cast<void>(run_jailed(loop, options_));
    _exit(0);
  }
  const auto running = [&] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string line = read_file(entry.path().string() + "/cmdline").value_or("");
      if (line.starts_with(KW_HOSTILE_PROGRAM) && line.find(folder_->path()) != std::string::npos) ++count;
    }
    return count;
  };
  const auto wait_for = [&](int count) {
    for (int i = 0; i < 1000 && running() != count; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return running() == count;
  };
  EXPECT_TRUE(wait_for(1));
  kill(caller, SIGKILL);
  int status = 0;
  waitpid(caller, &status, 0);
  EXPECT_TRUE(wait_for(0));
}

TEST_P(Jail, DoesNotPassOnTheEnvironment) {
  setenv("KW_TEST_SECRET", "secret", 1);
  Command env;
  env.argv = {"/usr/bin/env"};
  const ProcessOutcome outcome = run(env);
  EXPECT_EQ(outcome.out.find("secret"), std::string::npos);
  EXPECT_NE(outcome.out.find("TMPDIR="), std::string::npos);
  EXPECT_NE(outcome.out.find("USER=nobody\n"), std::string::npos) << "there is no /etc/passwd to look one up in";
  unsetenv("KW_TEST_SECRET");
}

TEST_P(Jail, RunsConcurrently) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      auto own = TempDir::create("kw-jail-many");
      JailOptions options = options_;
      options.work_dir = own->path();
      auto outcome = run_jailed(command("exit", std::to_string(i)), options);
      if (outcome && outcome->exit_code == i) ++good;
      else ADD_FAILURE() << i << ": " << (outcome ? describe(*outcome) + outcome->err : format_error(outcome.error()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 6);
}

TEST_P(Jail, NamesWhatIsNotThere) {
  Command absent;
  absent.argv = {"/usr/bin/kw-no-such-program"};
  auto outcome = run_jailed(absent, options_);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kNotFound);
  options_.work_dir = "relative";
  EXPECT_EQ(run_jailed(command("exit", "0"), options_).error().code, ErrorCode::kInvalid);
}

TEST_P(Jail, SymbolicLinksInTheFolderLeadNowhere) {
  std::filesystem::create_symlink("/etc", *folder_ / "link");
  expect_refused("read", *folder_ / "link/passwd");
  // A folder of that name made inside must not be copied back through the link.
  ASSERT_TRUE(write_file(*folder_ / "input", "hello"));
  static_cast<void>(run(command("write", *folder_ / "link/kw-jail-must-not-exist")));
  EXPECT_FALSE(std::filesystem::exists("/etc/kw-jail-must-not-exist"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Jail, testing::Values(JailKind::kNamespaces, JailKind::kLandlock),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(JailSupport, SaysWhichKindAndWhatToType) {
  const JailSupport& support = jail_support();
  if (support.kind == JailKind::kNamespaces) {
    EXPECT_EQ(support.remedy, "");
  } else {
    EXPECT_NE(support.remedy, "");
    EXPECT_NE(support.namespaces_problem, "");
  }
}

}  // namespace
}  // namespace kw
