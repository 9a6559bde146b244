#include "llm/text_form.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "llm/message_json.h"

namespace kw::llm {
namespace {

Request with_tools() {
  Request request;
  request.messages = {{Role::kSystem, "be brief", {}, ""},
                      {Role::kUser, "go", {}, ""},
                      {Role::kAssistant, "let me see", {{"call_1", "read", R"({"path":"a"})"}}, ""},
                      {Role::kTool, "text", {}, "call_1"}};
  request.tools = {{"read", "reads a file", R"({"type":"object"})"},
                   {"judge", "judges", R"({"type":"object"})"}};
  return request;
}

Request plain() {
  Request request;
  request.messages = {{Role::kUser, "hello", {}, ""}};
  return request;
}

TEST(PromptText, OneMessageIsItself) { EXPECT_EQ(prompt_text(plain()), "hello"); }

TEST(PromptText, AConversation) {
  const std::string text = prompt_text(with_tools());
  EXPECT_TRUE(
      text.starts_with("[system]\nbe brief\n\n[user]\ngo\n\n[assistant]\nlet me "
                       "see\n```tool\n{\"arguments\":{\"path\":\"a\"},\"name\":\"read\"}\n```\n\n"
                       "[result of call_1]\ntext\n\n[how to answer]\nYou may call tools."))
      << text;
  EXPECT_NE(text.find("\njudge: judges\narguments, as a JSON schema: {\"type\":\"object\"}\n"),
            std::string::npos);
}

std::string shown(std::string_view text, const Request& request) {
  const auto reply = read_reply_text(text, request);
  if (!reply) return std::string(name_of(reply.error().kind)) + ": " + reply.error().message;
  std::string out = reply->text;
  for (const ToolCall& call : reply->tool_calls)
    out += fmt::format("|{} {} {}", call.id, call.name, call.arguments);
  return out;
}

TEST(ReplyText, Table) {
  EXPECT_EQ(shown("yes\n\n", plain()), "yes");
  EXPECT_EQ(shown("```tool\nx\n```\n", plain()), "```tool\nx\n```");  // without tools a block is text
  EXPECT_EQ(shown("a\xff", plain()), "a\uFFFD");
  const Request tools = with_tools();
  EXPECT_EQ(shown("look:\n```tool\n{\"name\": \"read\",\n \"arguments\": {\"path\": \"b\"}}\n```\n```tool  "
                  "\r\n{\"name\":\"judge\"}\r\n```\r\n",
                  tools),
            "look:| read {\"path\":\"b\"}| judge {}");
  EXPECT_EQ(shown("```cpp\nint x;\n```\n", tools), "```cpp\nint x;\n```");
  EXPECT_EQ(
      shown("x\n```tool\n{\"name\": }\n```\n", tools),
      "malformed-answer: the tool block in line 2 of the reply is no JSON object with a name and arguments");
  EXPECT_EQ(
      shown("```tool\n{\"name\":\"read\",\"arguments\":\"x\"}\n```", tools),
      "malformed-answer: the tool block in line 1 of the reply is no JSON object with a name and arguments");
  EXPECT_EQ(shown("```tool\n{\"name\":\"read\"}\n", tools),
            "malformed-answer: the tool block in line 1 of the reply does not end");
  Request stops = plain();
  stops.stop = {"END", "STOP"};
  EXPECT_EQ(shown("a STOP b END c", stops), "a");
  EXPECT_EQ(read_reply_text("a STOP b", stops)->finish, FinishReason::kStopSequence);
  EXPECT_EQ(read_reply_text("```tool\n{\"name\":\"read\"}\n```", tools)->finish, FinishReason::kToolCalls);
}

TEST(ReplyText, AnyBytesAreAReplyOrAFailure) {
  Rng rng(5);
  const char* parts[] = {"```tool\n", "```\n",   "{\"name\":\"read\",\"arguments\":{}}\n",
                         "\n",        "x",       "\xff",
                         "\r\n",      "```tool", "```"};
  const Request request = with_tools();
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint64_t n = rng.below(10); n > 0; --n) {
      if (rng.below(4) == 0)
        text += static_cast<char>(rng.below(256));
      else
        text += parts[rng.below(std::size(parts))];
    }
    const auto reply = read_reply_text(text, request);
    if (!reply) continue;
    EXPECT_EQ(parse_json(json_text(to_json(*reply)))["text"], reply->text);
    for (const ToolCall& call : reply->tool_calls) EXPECT_TRUE(parse_json(call.arguments).is_object());
  }
}

}  // namespace
}  // namespace kw::llm
