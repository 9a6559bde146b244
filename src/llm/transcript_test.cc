#include "llm/transcript.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"

namespace kw::llm {
namespace {

Exchange exchange(int number) {
  Request request;
  request.messages = {{Role::kUser, fmt::format("question {} \xff", number), {}, ""}};
  Reply reply{
      fmt::format("answer {}", number), {{"a", "f", "{}"}}, {3, 4, false}, FinishReason::kToolCalls, "m"};
  return {to_json(request), reply, "openai:m", 2, 0.5};
}

TEST(TranscriptFile, HoldsWhatWasSaid) {
  const TempDir folder = *TempDir::create();
  const std::string path = folder / "t.jsonl";
  {
    auto transcript = Transcript::open(path);
    ASSERT_TRUE(transcript);
    ASSERT_TRUE(transcript->append(exchange(1), Key()));
    Exchange failed = exchange(2);
    failed.outcome = make_failure(FailureKind::kRefused, "no", "change it");
    ASSERT_TRUE(transcript->append(failed, Key()));
    EXPECT_FALSE(Transcript::open(path));  // somebody writes it
  }
  auto again = Transcript::open(path);
  ASSERT_TRUE(again);
  ASSERT_TRUE(again->append(exchange(3), Key()));
  const auto read = read_transcript(path);
  ASSERT_TRUE(read) << format_error(read.error());
  ASSERT_EQ(read->exchanges.size(), 3u);
  const Reply& reply = std::get<Reply>(read->exchanges[0].outcome);
  EXPECT_EQ(reply.text, "answer 1");
  EXPECT_EQ(reply.tool_calls[0].name, "f");
  EXPECT_EQ(reply.usage.output_tokens, 4u);
  EXPECT_EQ(reply.finish, FinishReason::kToolCalls);
  EXPECT_EQ(read->exchanges[0].attempts, 2u);
  const Failure& failure = std::get<Failure>(read->exchanges[1].outcome);
  EXPECT_EQ(failure.kind, FailureKind::kRefused);
  EXPECT_EQ(failure.notes, std::vector<std::string>{"change it"});
  EXPECT_NE(read_file(path)->find("\"exchange\":3"), std::string::npos);
}

TEST(TranscriptFile, NeverHoldsTheKey) {
  const TempDir folder = *TempDir::create();
  const Key key = *Key::make("sk-1234567890", "test");
  Exchange leaky = exchange(1);
  std::get<Reply>(leaky.outcome).text = "your key is sk-1234567890, and again sk-1234567890";
  leaky.request["messages"][0]["text"] = "sk-1234567890";
  auto transcript = Transcript::open(folder / "t");
  ASSERT_TRUE(transcript->append(leaky, key));
  const std::string text = *read_file(folder / "t");
  EXPECT_EQ(text.find("sk-123"), std::string::npos);
  EXPECT_NE(text.find("your key is [key], and again [key]"), std::string::npos);
}

TEST(TranscriptFile, ATornLineIsDroppedWithANote) {
  const TempDir folder = *TempDir::create();
  const std::string path = folder / "t";
  {
    auto transcript = Transcript::open(path);
    for (int i = 1; i <= 2; ++i) ASSERT_TRUE(transcript->append(exchange(i), Key()));
  }
  const std::string whole = *read_file(path);
  const size_t first = whole.find('\n') + 1;
  for (size_t size = 0; size < whole.size(); size += 31) {
    ASSERT_TRUE(write_file(path, whole.substr(0, size)));
    const bool torn = size != 0 && size != first;
    const size_t kept = size < first ? 0 : 1;
    const auto read = read_transcript(path);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->exchanges.size(), kept);
    EXPECT_EQ(read->notes.size(), torn ? 1u : 0u);
    auto transcript = Transcript::open(path);
    ASSERT_TRUE(transcript) << format_error(transcript.error());
    EXPECT_EQ(transcript->notes().size(), torn ? 1u : 0u);
    ASSERT_TRUE(transcript->append(exchange(9), Key()));
    EXPECT_EQ(read_transcript(path)->exchanges.size(), kept + 1);
  }
}

TEST(TranscriptFile, OtherFilesAreLeftAlone) {
  const TempDir folder = *TempDir::create();
  for (const char* text : {"my notes", "my notes\n", "{}\n", "{\"kw_transcript\":1}\n",
                           "{\"kw_transcript\":2,\"request\":{},\"reply\":{\"text\":\"\"}}\n", "\n"}) {
    ASSERT_TRUE(write_file(folder / "t", text));
    EXPECT_FALSE(Transcript::open(folder / "t")) << text;
    EXPECT_EQ(*read_file(folder / "t"), text);
  }
  EXPECT_EQ(read_transcript(folder / "t").error().span->line, 1);
  EXPECT_FALSE(Transcript::open(folder.path()));
  EXPECT_FALSE(Transcript::open(folder / "no/such/folder"));
  EXPECT_FALSE(read_transcript(folder / "none"));
}

// Killed at any moment: every exchange that append() had confirmed is there, and the file goes on.
TEST(TranscriptFile, SurvivesAKill) {
  const TempDir folder = *TempDir::create();
  const std::string path = folder / "t";
  size_t confirmed = 0;
  Rng rng(4);
  for (int round = 0; round < 8; ++round) {
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto transcript = Transcript::open(path);
      if (!transcript) _exit(1);
      for (int i = 0;; ++i) {
        if (!transcript->append(exchange(i), Key()) || write(fds[1], "x", 1) != 1) _exit(1);
      }
    }
    close(fds[1]);
    char byte = 0;
    ASSERT_EQ(read(fds[0], &byte, 1), 1);
    usleep(static_cast<useconds_t>(rng.below(8000)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    ++confirmed;
    while (read(fds[0], &byte, 1) == 1) ++confirmed;
    close(fds[0]);
    const auto read = read_transcript(path);
    ASSERT_TRUE(read) << format_error(read.error());
    EXPECT_GE(read->exchanges.size(), confirmed);
    EXPECT_LE(read->exchanges.size(),
              confirmed + static_cast<size_t>(round) + 1);  // written, and killed before it could say so
  }
}

TEST(Difference, SaysWhere) {
  const auto differs = [](const char* a, const char* b) { return difference(parse_json(a), parse_json(b)); };
  EXPECT_EQ(differs(R"({"a":[1,{"b":2}]})", R"({"a":[1,{"b":2}]})"), "");
  EXPECT_EQ(differs(R"({"a":[1,{"b":2}]})", R"({"a":[1,{"b":3}]})"), "/a/1/b: 2 and 3");
  EXPECT_EQ(differs(R"({"a":[1]})", R"({"a":[1,2]})"), "/a/1: nothing and 2");
  EXPECT_EQ(differs(R"({"a":1})", R"({"b":1})"), "/a: 1 and nothing");
  EXPECT_EQ(differs("{}", R"({"b":1})"), "/b: nothing and 1");
  EXPECT_EQ(differs("[]", "{}"), ": [] and {}");
  const std::string front(1000, 'x');
  EXPECT_EQ(difference(Json(front + "a"), Json(front + "b")),
            ": from byte 1000 on, \"" + std::string(20, 'x') + "a\" and \"" + std::string(20, 'x') + "b\"");
}

TEST(ParseJson, IsBounded) {
  EXPECT_TRUE(parse_json(std::string(60, '[') + std::string(60, ']')).is_array());
  EXPECT_TRUE(parse_json(std::string(70, '[') + std::string(70, ']')).is_discarded());
  EXPECT_TRUE(parse_json(std::string(1 << 20, '[')).is_discarded());
  EXPECT_TRUE(parse_json("[\"" + std::string(100, '[') + "\\\"{\"]").is_array()) << "what stands in a text is no depth";
  std::string many = "[{}";
  for (int i = 0; i < 300'000; ++i) many += ",{}";
  EXPECT_EQ(parse_json(many + "]").size(), 300'001u) << "at once: a minute and more, were it to grow with the square";
  EXPECT_TRUE(parse_json(std::string_view("{}\0", 3)).is_discarded());
  EXPECT_TRUE(parse_json("\"\xff\"").is_discarded());
  EXPECT_TRUE(parse_json("").is_discarded());
}

}  // namespace
}  // namespace kw::llm
