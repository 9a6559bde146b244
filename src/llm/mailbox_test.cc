#include "llm/mailbox.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "llm/model.h"

namespace kw::llm {
namespace {

Request question(const std::string& text) {
  Request request;
  request.messages = {{Role::kUser, text, {}, ""}};
  return request;
}

std::unique_ptr<Model> open(const std::string& folder, double seconds = 20) {
  ModelOptions options;
  options.limits.total_seconds = seconds;
  auto model = Model::open("mailbox:" + folder, options);
  if (!model) ADD_FAILURE() << format_error(model.error());
  return std::move(*model);
}

std::string shown(const Answer<Reply>& reply) {
  return reply ? reply->text : std::string(name_of(reply.error().kind));
}

bool await(const std::string& path) {
  for (int i = 0; i < 1000 && !std::filesystem::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return std::filesystem::exists(path);
}

TEST(Mailbox, SomebodyAnswers) {
  const TempDir folder = *TempDir::create();
  std::thread person([&] {
    ASSERT_TRUE(await(folder / "0001-prompt.md"));
    EXPECT_EQ(*read_file(folder / "0001-prompt.md"), "what?");
    const Json json = parse_json(*read_file(folder / "0001-prompt.json"));
    EXPECT_EQ(json["request"]["messages"][0]["text"], "what?");
    EXPECT_EQ(json["reply"], "0001-reply.md");
    ASSERT_TRUE(write_file(folder / "0001-reply.md", "that\n"));
    ASSERT_TRUE(await(folder / "0002-prompt.md"));
    ASSERT_TRUE(write_file(folder / "0002-reply.json",
                           R"({"text":"","model":"me","tool_calls":[{"name":"f","arguments":{"a":1}}]})"));
  });
  const auto model = open(folder.path());
  EXPECT_EQ(shown(model->ask(question("what?"))), "that");
  const auto reply = model->ask(question("what?"));  // asked once more, answered once more
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->model, "me");
  EXPECT_EQ(reply->tool_calls.at(0).id, "call_1");
  EXPECT_EQ(reply->tool_calls.at(0).arguments, "{\"a\":1}");
  person.join();
}

// Asks, and gives up once the prompt stands in the folder.
std::string give_up(Model& model, const std::string& text, const std::string& prompt) {
  std::atomic<bool> cancel = false;
  Listener listener;
  listener.cancel = &cancel;
  std::thread other([&] {
    EXPECT_TRUE(await(prompt));
    cancel = true;
  });
  const std::string out = shown(model.ask(question(text), listener));
  other.join();
  return out;
}

TEST(Mailbox, GoesOnAfterARestart) {
  const TempDir folder = *TempDir::create();
  const auto late = open(folder.path(), 0.05)->ask(question("one"));
  EXPECT_EQ(shown(late), "timed-out");
  EXPECT_FALSE(late.error().retriable);  // it would be a day more
  ASSERT_TRUE(write_file(folder / "0001-reply.md", "1"));
  unlink((folder / "0001-prompt.md").c_str());  // as if killed between the two
  {
    const auto model = open(folder.path());
    EXPECT_EQ(give_up(*model, "two", folder / "0002-prompt.md"),
              "cancelled");  // another request, another number
    EXPECT_EQ(shown(model->ask(question("one"))), "1");
    EXPECT_TRUE(std::filesystem::exists(folder / "0001-prompt.md"));
    ASSERT_TRUE(write_file(folder / "0002-reply.md", "2"));
    EXPECT_EQ(shown(model->ask(question("two"))), "2");  // given up, it is awaited again under its number
    EXPECT_EQ(give_up(*model, "one", folder / "0003-prompt.md"), "cancelled");
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "0004-prompt.md"));
  const auto again = open(folder.path());
  EXPECT_EQ(shown(again->ask(question("one"))), "1");
  EXPECT_EQ(shown(again->ask(question("two"))), "2");
}

TEST(Mailbox, AReplyThatCannotBeUsedMayBeMended) {
  const TempDir folder = *TempDir::create();
  std::thread person([&] {
    ASSERT_TRUE(await(folder / "0001-prompt.md"));
    ASSERT_TRUE(write_file(folder / "0001-reply.json", "{\"txt\":1}"));
    ASSERT_TRUE(await(folder / "0001-problem.md"));
    EXPECT_NE(read_file(folder / "0001-problem.md")->find("'text' of a reply is missing"), std::string::npos);
    ASSERT_TRUE(write_file(folder / "0001-reply.json", "{\"text\":\"better\"}"));
  });
  EXPECT_EQ(shown(open(folder.path())->ask(question("q"))), "better");
  person.join();
  EXPECT_FALSE(std::filesystem::exists(folder / "0001-problem.md"));
}

// One that is written bit by bit is read when it no longer grows; an empty one is none.
TEST(Mailbox, AwaitsTheWholeReply) {
  const TempDir folder = *TempDir::create();
  std::thread person([&] {
    ASSERT_TRUE(await(folder / "0001-prompt.md"));
    FILE* file = fopen((folder / "0001-reply.md").c_str(), "w");
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    for (int i = 0; i < 5; ++i) {
      fputs("word ", file);
      fflush(file);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    fclose(file);
  });
  EXPECT_EQ(shown(open(folder.path())->ask(question("q"))), "word word word word word");
  person.join();
}

TEST(Mailbox, ManyAtOnceAndOneProcess) {
  const TempDir folder = *TempDir::create();
  std::thread person([&] {
    for (int number = 1; number <= 4; ++number) {
      const std::string name = fmt::format("{:04}", number);
      ASSERT_TRUE(await(folder / (name + "-prompt.md")));
      ASSERT_TRUE(
          write_file(folder / (name + "-reply.md"), "to " + *read_file(folder / (name + "-prompt.md"))));
    }
  });
  const auto model = open(folder.path());
  EXPECT_FALSE(Model::open("mailbox:" + folder.path(), {}));  // somebody asks through it
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back(
        [&, i] { EXPECT_EQ(shown(model->ask(question(std::to_string(i)))), fmt::format("to {}", i)); });
  }
  for (std::thread& asker : askers) asker.join();
  person.join();
}

TEST(Mailbox, IsCancelled) {
  const TempDir folder = *TempDir::create();
  std::atomic<bool> cancel = false;
  Listener listener;
  listener.cancel = &cancel;
  const auto model = open(folder / "made/below");
  std::thread other([&] {
    EXPECT_TRUE(await(folder / "made/below/0001-prompt.md"));
    cancel = true;
  });
  EXPECT_EQ(shown(model->ask(question("q"), listener)), "cancelled");
  other.join();
  EXPECT_FALSE(Model::open("mailbox:/dev/null/x", {}));
}

}  // namespace
}  // namespace kw::llm
