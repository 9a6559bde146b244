#include "llm/command_provider.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/file.h"
#include "llm/model.h"
#include "llm/scripted_server_for_test.h"

namespace kw::llm {
namespace {

Request question(const std::string& text) {
  Request request;
  request.messages = {{Role::kUser, text, {}, ""}};
  return request;
}

Answer<Reply> ask(const std::string& words, const Limits& limits = {}, const Listener& listener = {}) {
  ModelOptions options;
  options.limits = limits;
  return (*Model::open("command:" + words, options))->ask(question("hello\n"), listener);
}

std::string shown(const Answer<Reply>& reply) {
  return reply ? reply->text : fmt::format("{}: {}", name_of(reply.error().kind), reply.error().message);
}

TEST(CommandProvider, PromptInAnswerOut) {
  EXPECT_EQ(shown(ask("tr a-z A-Z | sed 's/^/it said /'")), "it said HELLO");
  const auto reply = ask("echo yes");  // does not read its input
  EXPECT_EQ(shown(reply), "yes");
  EXPECT_TRUE(reply->usage.estimated);
  EXPECT_GT(reply->usage.output_tokens, 0u);
}

TEST(CommandProvider, CallsTools) {
  Request request = question("go");
  request.messages.push_back({Role::kAssistant, "", {{"call_1", "f", "{}"}}, ""});
  request.messages.push_back({Role::kTool, "done", {}, "call_1"});
  request.tools = {{"f", "does f", R"({"type":"object"})"}};
  const std::string words =
      R"(command:grep -q 'result of call_1' && printf '```tool\n{"name":"f"}\n```\n```tool\n{"name":"f"}\n```\n')";
  const auto reply = (*Model::open(words, {}))->ask(request);
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(reply->tool_calls.size(), 2u);
  EXPECT_EQ(reply->tool_calls[0].id, "call_2");  // counted on, so that every result finds its call
  EXPECT_EQ(reply->tool_calls[1].id, "call_3");
}

TEST(CommandProvider, FailuresSayWhy) {
  EXPECT_EQ(shown(ask("echo no credit left >&2; exit 3")),
            "overloaded: the command failed, exit code 3: no credit left");
  EXPECT_TRUE(shown(ask("no-such-program-of-mine"))
                  .starts_with("misconfigured: the command failed, exit code 127: "));
  EXPECT_EQ(shown(ask("true")), "malformed-answer: the command answered nothing");
  EXPECT_EQ(shown(ask("kill -SEGV $$")), "overloaded: the command failed, killed by SIGSEGV");
  Limits small;
  small.reply_bytes = 100;
  EXPECT_EQ(shown(ask("yes", small)), "malformed-answer: the command printed more than 100 bytes");
}

TEST(CommandProvider, KeysOfTheEnvironmentAreNotShown) {
  const ScopedVariable key("ANTHROPIC_API_KEY", "sk-very-secret");
  EXPECT_EQ(shown(ask("echo bad key: $ANTHROPIC_API_KEY >&2; exit 1")),
            "overloaded: the command failed, exit code 1: bad key: [key]");
}

// The children of its shell end with it.
TEST(CommandProvider, EndsAtTheDeadlineAndWhenCancelled) {
  const TempDir folder = *TempDir::create();
  const std::string words = fmt::format("sleep 100 & echo $! > {}; wait", folder / "pid");
  // Gone, or a zombie that nobody has waited for.
  const auto child_is_gone = [&] {
    const std::string stat = fmt::format("/proc/{}/stat", std::stoi(*read_file(folder / "pid")));
    for (int i = 0; i < 200; ++i) {
      std::ifstream file(stat);
      std::string pid, name, state;
      if (!(file >> pid >> name >> state) || state == "Z") return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  };
  Limits limits;
  limits.total_seconds = 0.6;
  EXPECT_TRUE(shown(ask(words, limits)).starts_with("timed-out: the command did not answer within 0."));
  EXPECT_TRUE(child_is_gone());

  std::atomic<bool> cancel = false;
  Listener listener;
  listener.cancel = &cancel;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    cancel = true;
  });
  const auto start = Clock::now();
  EXPECT_EQ(shown(ask(words, {}, listener)), "cancelled: cancelled while the command was answering");
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 2);
  other.join();
  EXPECT_TRUE(child_is_gone());
}

}  // namespace
}  // namespace kw::llm
