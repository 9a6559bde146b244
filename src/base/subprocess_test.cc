#include "base/subprocess.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace kw {
namespace {

ProcessOutcome run(Command command) {
  auto outcome = run_process(command);
  if (!outcome) {
    ADD_FAILURE() << format_error(outcome.error());
    return {};
  }
  return std::move(*outcome);
}

TEST(Subprocess, CapturesBothStreamsAndTheExitCode) {
  const ProcessOutcome outcome = run({.argv = {"sh", "-c", "echo out; echo err >&2; exit 3"}});
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(describe(outcome), "exit code 3");
}

TEST(Subprocess, FeedsInputLargerThanAPipe) {
  const std::string text(3 << 20, 'a');
  EXPECT_EQ(run({.argv = {"cat"}, .stdin_text = text}).out, text);
  // A program that does not read its input is no trouble either.
  EXPECT_TRUE(run({.argv = {"true"}, .stdin_text = text}).succeeded());
}

TEST(Subprocess, SetsEnvironmentAndFolder) {
  Command command{.argv = {"/bin/sh", "-c", "pwd; echo $KW_X"}, .cwd = "/usr"};
  command.env = std::map<std::string, std::string>{{"KW_X", "a b"}};
  EXPECT_EQ(run(command).out, "/usr\na b\n");
}

TEST(Subprocess, EndsTheGroupAtTheDeadline) {
  const ProcessOutcome outcome = run({.argv = {"sh", "-c", "sleep 100 & echo started; wait"}, .wall_seconds = 0.2});
  EXPECT_EQ(outcome.reason, StopReason::kDeadline);
  EXPECT_EQ(outcome.out, "started\n");
  EXPECT_LT(outcome.wall_seconds, 5);
}

TEST(Subprocess, EndsTheGroupWhenCancelled) {
  std::atomic<bool> cancel = false;
  std::thread other([&cancel] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancel = true;
  });
  const ProcessOutcome outcome = run({.argv = {"sh", "-c", "sleep 100 & wait"}, .cancel = &cancel});
  other.join();
  EXPECT_EQ(outcome.reason, StopReason::kCancelled);
  EXPECT_EQ(describe(outcome), "stopped: cancelled");
  EXPECT_GE(outcome.wall_seconds, 0.09);
  EXPECT_LT(outcome.wall_seconds, 5);
}

TEST(Subprocess, DoesNotWaitForWhatTheProgramLeftRunning) {
  const ProcessOutcome outcome = run({.argv = {"sh", "-c", "sleep 100 & echo done"}});
  EXPECT_EQ(outcome.out, "done\n");
  EXPECT_LT(outcome.wall_seconds, 5);
}

TEST(Subprocess, StopsAFlood) {
  const ProcessOutcome outcome = run({.argv = {"yes"}, .stdout_limit_bytes = 1000});
  EXPECT_EQ(outcome.reason, StopReason::kOutputLimit);
  EXPECT_EQ(outcome.out.size(), 1000u);
}

TEST(Subprocess, NamesASignal) {
  EXPECT_EQ(describe(run({.argv = {"sh", "-c", "kill -SEGV $$"}})), "killed by SIGSEGV");
}

TEST(Subprocess, SaysWhatIsMissing) {
  const auto code = [](const Command& command) { return run_process(command).error().code; };
  EXPECT_EQ(code({}), ErrorCode::kInvalid);
  EXPECT_EQ(code({.argv = {"kw-no-such-program"}}), ErrorCode::kNotFound);
  EXPECT_EQ(code({.argv = {"/no/such/program"}}), ErrorCode::kNotFound);
  EXPECT_EQ(code({.argv = {"true"}, .cwd = "/no/such/folder"}), ErrorCode::kNotFound);
  EXPECT_EQ(code({.argv = {"/etc/passwd"}}), ErrorCode::kIo);
  EXPECT_EQ(code({.argv = {"true", std::string("a\0b", 3)}}), ErrorCode::kInvalid);
}

TEST(Subprocess, FindsPrograms) {
  auto sh = find_program("sh");
  ASSERT_TRUE(sh);
  EXPECT_EQ(sh->front(), '/');
  EXPECT_FALSE(find_program("kw-no-such-program"));
  EXPECT_FALSE(find_program(""));
  EXPECT_FALSE(find_program("/etc"));
}

}  // namespace
}  // namespace kw
