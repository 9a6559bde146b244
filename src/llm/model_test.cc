#include "llm/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/file.h"
#include "llm/scripted_server_for_test.h"

namespace kw::llm {
namespace {

Request question(const std::string& text) {
  Request request;
  request.messages = {{Role::kUser, text, {}, ""}};
  request.max_output_tokens = 100;
  return request;
}

std::string kind_of(const Answer<Reply>& reply) {
  return reply ? "reply" : std::string(name_of(reply.error().kind));
}

ScriptedServer::Scene good(const std::string& text, int input = 10, int output = 5) {
  return ScriptedServer::answers(
      200,
      fmt::format(
          R"({{"model":"m","choices":[{{"message":{{"content":"{}"}}}}],"usage":{{"prompt_tokens":{},"completion_tokens":{}}}}})",
          text, input, output));
}
ScriptedServer::Scene bad(int status, const std::string& headers = "") {
  return ScriptedServer::answers(status, "{}", headers);
}

ModelOptions quick() {
  ModelOptions options;
  options.retry.first_seconds = 0.01;
  return options;
}

std::unique_ptr<Model> model_of(const ScriptedServer& server, const ModelOptions& options) {
  auto model = Model::open("openai:m@" + server.address(), options);
  if (!model) ADD_FAILURE() << format_error(model.error());
  return std::move(*model);
}

TEST(BackOff, GrowsWithJitterAndObeysTheServer) {
  RetryPolicy policy;
  policy.attempts = 12;
  Failure failure = make_failure(FailureKind::kOverloaded, "x");
  for (unsigned attempt = 1; attempt < 12; ++attempt) {
    const double full = std::min(60.0, std::exp2(attempt - 1));
    const double wait = *wait_before_again(policy, failure, attempt, 7);
    EXPECT_GE(wait, full / 2);
    EXPECT_LE(wait, full);
    EXPECT_EQ(wait, *wait_before_again(policy, failure, attempt, 7));
  }
  EXPECT_NE(*wait_before_again(policy, failure, 3, 7), *wait_before_again(policy, failure, 3, 8));
  EXPECT_FALSE(wait_before_again(policy, failure, 12, 7));
  failure.retry_after_seconds = 100;
  EXPECT_GE(*wait_before_again(policy, failure, 1, 7), 100);
  failure.retry_after_seconds = 601;
  EXPECT_FALSE(wait_before_again(policy, failure, 1, 7));
  for (const FailureKind kind :
       {FailureKind::kWrongKey, FailureKind::kNoCredit, FailureKind::kUnknownModel, FailureKind::kRefused,
        FailureKind::kMalformedAnswer, FailureKind::kContextTooLong, FailureKind::kBudgetSpent,
        FailureKind::kCancelled, FailureKind::kMisconfigured, FailureKind::kReplayDiffers}) {
    EXPECT_FALSE(wait_before_again(policy, make_failure(kind, "x"), 1, 7));
  }
}

// A server knows the key that it is asked with, and what it answers is printed and kept.
TEST(Model, AnAnswerThatTellsTheKeyDoesNot) {
  constexpr char kSecret[] = "sk-secret-0123456789";
  const ScopedVariable key("KW_LLM_KEY", kSecret);
  std::string letters;   // the key a letter at a time
  for (const char c : std::string("it is ") + kSecret + ", yes") letters += fmt::format("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", c);
  ScriptedServer server({good(std::string("it is ") + kSecret + ", yes"),
                         ScriptedServer::streams(letters + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")});
  const auto model = model_of(server, quick());
  const auto plain = model->ask(question("q"));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->text, "it is [key], yes");
  std::string heard;
  Listener listener;
  listener.on_text = [&](std::string_view text) { heard += text; };
  const auto streamed = model->ask(question("q"), listener);
  ASSERT_TRUE(streamed) << streamed.error().message;
  EXPECT_EQ(streamed->text, "it is [key], yes");
  EXPECT_EQ(heard, streamed->text);
}

TEST(Model, AsksAgainWhatMayBeAskedAgain) {
  ScriptedServer server({bad(503), bad(429, "retry-after-ms: 30\r\n"), ScriptedServer::says(""), good("hi")});
  std::vector<std::string> reasons;
  Listener listener;
  listener.on_again = [&](const Failure& failure) { reasons.emplace_back(name_of(failure.kind)); };
  const auto model = model_of(server, quick());
  const auto start = Clock::now();
  EXPECT_EQ(model->ask(question("q"), listener)->text, "hi");
  EXPECT_GE(std::chrono::duration<double>(Clock::now() - start).count(), 0.03);
  EXPECT_EQ(reasons, (std::vector<std::string>{"overloaded", "rate-limited", "cut-stream"}));
}

TEST(Model, GivesUp) {
  ScriptedServer busy({bad(500)}), wrong({bad(401), good("never")}), far({bad(429, "Retry-After: 7200\r\n")});
  ModelOptions options = quick();
  options.retry.attempts = 3;
  auto reply = model_of(busy, options)->ask(question("q"));
  EXPECT_EQ(kind_of(reply), "overloaded");
  EXPECT_EQ(reply.error().notes.back(), "asked 3 times");
  EXPECT_EQ(busy.requests().size(), 3u);
  EXPECT_EQ(kind_of(model_of(wrong, options)->ask(question("q"))), "wrong-key");
  EXPECT_EQ(wrong.requests().size(), 1u);
  reply = model_of(far, options)->ask(question("q"));
  EXPECT_EQ(kind_of(reply), "rate-limited");
  EXPECT_EQ(reply.error().notes.back(), "the server asks to wait 7200 s");
}

TEST(Model, WaitingIsBoundedByTheWallBudgetAndCancellable) {
  ScriptedServer server({bad(429, "Retry-After: 5\r\n")});
  ModelOptions options = quick();
  options.budget = std::make_shared<Budget>(BudgetTerms{.wall_seconds = 2});
  const auto start = Clock::now();
  const auto reply = model_of(server, options)->ask(question("q"));
  EXPECT_EQ(kind_of(reply), "rate-limited");
  EXPECT_NE(reply.error().notes.back().find("does not allow waiting"), std::string::npos);

  std::atomic<bool> cancel = false;
  Listener listener;
  listener.cancel = &cancel;
  listener.on_again = [&](const Failure&) { cancel = true; };
  EXPECT_EQ(kind_of(model_of(server, quick())->ask(question("q"), listener)), "cancelled");
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 1);
}

TEST(Model, WallBudgetEndsACall) {
  ScriptedServer server({[](Visitor& v) {
    v.read_request();
    v.wait_until_gone();
  }});
  ModelOptions options = quick();
  options.budget = std::make_shared<Budget>(BudgetTerms{.wall_seconds = 0.4});
  const TempDir folder = *TempDir::create();
  options.transcript = folder / "t";
  const auto model = model_of(server, options);
  EXPECT_EQ(kind_of(model->ask(question("q"))), "budget-spent");
  EXPECT_EQ(read_transcript(options.transcript)->exchanges.size(), 1u);
  const auto next = model->ask(question("q"));
  EXPECT_EQ(kind_of(next), "budget-spent");
  EXPECT_NE(next.error().message.find("wall time"), std::string::npos);
  EXPECT_EQ(read_transcript(options.transcript)->exchanges.size(), 1u);  // that one never left
}

TEST(Model, StopsBeforeACallThatCannotBeAfforded) {
  ScriptedServer server({good("a", 50, 20)});
  ModelOptions options = quick();
  options.budget = std::make_shared<Budget>(BudgetTerms{.tokens = 300, .calls = 2});
  auto model = model_of(server, options);
  ASSERT_EQ(kind_of(model->ask(question("q"))), "reply");
  EXPECT_EQ(options.budget->spent().usage.input_tokens + options.budget->spent().usage.output_tokens, 70u);
  ASSERT_EQ(kind_of(model->ask(question("q"))), "reply");
  EXPECT_TRUE(options.budget->describe().starts_with("140 of 300 tokens (160 left), 2 of 2 calls (0 left), "))
      << options.budget->describe();
  EXPECT_EQ(model->ask(question("q")).error().message,
            "the budget does not allow another call: all 2 calls were made");

  options.budget = std::make_shared<Budget>(BudgetTerms{.tokens = 110});
  model = model_of(server, options);
  const auto reply = model->ask(question("q"));
  EXPECT_EQ(kind_of(reply), "budget-spent");
  EXPECT_NE(reply.error().message.find("of 110 are left"), std::string::npos);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(Model, MoneyNeedsPrices) {
  ScriptedServer server({good("a", 1000000, 500000)});
  ModelOptions options = quick();
  options.budget = std::make_shared<Budget>(BudgetTerms{.money = 5});
  const auto refused = Model::open("openai:m@" + server.address(), options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("needs prices"), std::string::npos);
  options.prices = Prices{2, 4};
  const auto model = model_of(server, options);
  ASSERT_EQ(kind_of(model->ask(question("q"))), "reply");
  EXPECT_DOUBLE_EQ(options.budget->spent().money, 4);
  // What was learned about tokens per byte makes the next one too dear.
  EXPECT_EQ(kind_of(model->ask(question(std::string(1000000, 'x')))), "budget-spent");
  options.prices = Prices{-1, 4};
  EXPECT_FALSE(Model::open("openai:m@" + server.address(), options));
}

TEST(Model, FailuresThatMayHaveBeenBilledAreCounted) {
  ScriptedServer server(
      {ScriptedServer::says("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: "
                            "{\"choices\":[{\"delta\":{\"content\":\"" +
                            std::string(300, 'x') + "\"}}]}\n\n"),
       bad(401)});
  ModelOptions options = quick();
  options.retry.attempts = 1;
  options.budget = std::make_shared<Budget>(BudgetTerms{});
  const auto model = model_of(server, options);
  EXPECT_EQ(kind_of(model->ask(question("q"))), "cut-stream");
  const Usage after = options.budget->spent().usage;
  EXPECT_EQ(after.output_tokens, 100u);
  EXPECT_GT(after.input_tokens, 0u);
  EXPECT_TRUE(after.estimated);
  EXPECT_EQ(kind_of(model->ask(question("q"))), "wrong-key");
  EXPECT_EQ(options.budget->spent().usage.output_tokens, 100u);
}

TEST(BudgetOfManyThreads, WhatIsReservedIsNotLeft) {
  Budget budget({.tokens = 100, .money = 1e-3});
  const auto first = budget.reserve({30, 30, false}, Prices{10, 10}, true);
  ASSERT_TRUE(first);
  EXPECT_FALSE(budget.reserve({30, 30, false}, {}, true));
  EXPECT_FALSE(budget.reserve({20, 20, false}, Prices{11, 11}, true));  // money
  budget.settle(*first, {10, 10, false}, Prices{10, 10});
  EXPECT_TRUE(budget.reserve({40, 40, false}, {}, true));
}

TEST(BudgetOfManyThreads, IsNeverOverdrawn) {
  Budget budget({.tokens = 1000, .money = 1});
  std::atomic<int> granted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const auto reserved = budget.reserve({5, 5, false}, Prices{1, 1}, true);
        if (!reserved) continue;
        ++granted;
        budget.settle(*reserved, {5, 5, false}, Prices{1, 1});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, 100);
  EXPECT_EQ(budget.spent().usage.output_tokens, 500u);
  EXPECT_NEAR(budget.spent().money, 1000e-6, 1e-12);
}

TEST(Replay, GivesTheSameReplies) {
  const TempDir folder = *TempDir::create();
  ScriptedServer server({good("one"),
                         ScriptedServer::answers(400, R"({"error":{"message":"x","code":"content_policy"}})"),
                         good("three \\u00fc")});
  ModelOptions options = quick();
  options.transcript = folder / "t.jsonl";
  {
    const auto model = model_of(server, options);
    EXPECT_EQ(model->ask(question("1 \xff"))->text, "one");
    EXPECT_EQ(kind_of(model->ask(question("2"))), "refused");
    EXPECT_EQ(model->ask(question("3"))->text, "three ü");
    std::atomic<bool> cancel = true;
    Listener listener;
    listener.cancel = &cancel;
    EXPECT_EQ(kind_of(model->ask(question("given up"), listener)), "cancelled");
  }
  const auto replay = *Model::open("replay:" + options.transcript, {});
  std::string heard;
  Listener listener;
  listener.on_text = [&](std::string_view text) { heard += text; };
  const auto first = replay->ask(question("1 \xff"), listener);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(heard, "one");
  EXPECT_EQ(first->usage.input_tokens, 10u);
  EXPECT_EQ(kind_of(replay->ask(question("2"))), "refused");
  const auto other = replay->ask(question("3?"));
  EXPECT_EQ(kind_of(other), "replay-differs");
  EXPECT_NE(other.error().message.find("exchange 3 of "), std::string::npos);
  EXPECT_NE(other.error().message.find("/messages/0/text: from byte 1 on, \"3\" and \"3?\""),
            std::string::npos)
      << other.error().message;
  EXPECT_EQ(replay->ask(question("3"))->text, "three ü");
  const auto more = replay->ask(question("4"));
  EXPECT_EQ(kind_of(more), "replay-differs");
  EXPECT_NE(more.error().message.find("exchange 4 is not in"), std::string::npos);

  options.transcript = folder / "t.jsonl";
  EXPECT_FALSE(Model::open("replay:" + options.transcript, options));  // onto itself
  options.transcript = folder / "again.jsonl";
  const auto copied = *Model::open("replay:" + (folder / "t.jsonl"), options);
  EXPECT_EQ(copied->ask(question("1 \xff"))->text, "one");
  EXPECT_EQ(read_transcript(options.transcript)->exchanges.size(), 1u);
}

TEST(None, IsAnError) {
  const auto model = *Model::open("none", {});
  const auto reply = model->ask(question("q"));
  EXPECT_EQ(kind_of(reply), "misconfigured");
  EXPECT_NE(format_error(reply.error()).find("--llm names one"), std::string::npos);
  EXPECT_EQ(kind_of(model->ask({})), "misconfigured");
}

TEST(Model, TheKeyIsInNoTranscript) {
  const TempDir folder = *TempDir::create();
  const ScopedVariable key("KW_LLM_KEY", "sk-1234567890");
  ScriptedServer server({ScriptedServer::answers(401, R"({"error":{"message":"bad key sk-1234567890"}})"),
                         good("sk-1234567890")});
  ModelOptions options = quick();
  options.transcript = folder / "t";
  const auto model = model_of(server, options);
  static_cast<void>(model->ask(question("q")));
  static_cast<void>(model->ask(question("my key is sk-1234567890")));
  const std::string text = *read_file(folder / "t");
  EXPECT_EQ(text.find("sk-1234567890"), std::string::npos);
  EXPECT_EQ(server.requests()[1].substr(server.requests()[1].find("\r\n\r\n")).find("[key]"),
            std::string::npos);
}

}  // namespace
}  // namespace kw::llm
