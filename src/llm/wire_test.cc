#include "llm/wire.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace kw::llm {
namespace {

Server server() { return {"host", "m-1", "KW_LLM_KEY", Key()}; }

std::string shown(const Answer<Reply>& reply) {
  if (!reply) return std::string(name_of(reply.error().kind));
  std::string out = reply->text;
  for (const ToolCall& call : reply->tool_calls)
    out += fmt::format("|{} {} {}", call.id, call.name, call.arguments);
  static constexpr const char* kFinish[] = {"end", "length", "calls", "stop"};
  return out + fmt::format("|{} {}+{}{} {}", kFinish[static_cast<int>(reply->finish)],
                           reply->usage.input_tokens, reply->usage.output_tokens,
                           reply->usage.estimated ? "?" : "", reply->model);
}

std::string stream(const Wire& wire, const std::vector<std::string>& events) {
  std::string heard;
  auto reader = wire.reader([&](std::string_view text) { heard += text; });
  for (const std::string& data : events) {
    auto whole = reader->take({"message", data});
    if (!whole) return std::string(name_of(whole.error().kind));
    if (*whole) break;
  }
  const auto reply = reader->finish();
  if (reply) {
    EXPECT_EQ(heard, reply->text);
  }
  return shown(reply);
}

std::string delta(const std::string& inner, const std::string& finish = "null") {
  return R"({"model":"m-1-2026","choices":[{"index":0,"delta":{)" + inner + R"(},"finish_reason":)" + finish +
         "}]}";
}

TEST(OpenAi, Streams) {
  const auto wire = openai_wire(server(), false);
  EXPECT_EQ(stream(*wire, {delta(R"("role":"assistant","content":"")"), delta(R"("content":"Hel")"),
                           delta(R"("content":"lo")"), delta("", R"("stop")"),
                           R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}})", "[DONE]"}),
            "Hello|end 9+2 m-1-2026");
  EXPECT_EQ(stream(*wire, {delta(R"("content":"x")", R"("length")")}), "x|length 0+0? m-1-2026");
  EXPECT_EQ(stream(*wire, {delta(R"("content":"x")")}), "cut-stream");
  EXPECT_EQ(stream(*wire, {}), "cut-stream");
  EXPECT_EQ(stream(*wire, {delta(R"("content":"x")", R"("error")")}), "overloaded");
  EXPECT_EQ(
      name_of(
          wire->reader({})->take({"error", R"({"message":"slow down","type":"rate_limit"})"}).error().kind),
      "rate-limited");
  EXPECT_EQ(stream(*wire, {delta(R"("content":"x")", R"("content_filter")")}), "refused");
  EXPECT_EQ(stream(*wire, {delta(R"("refusal":"I can't")"), delta("", R"("stop")")}), "refused");
  EXPECT_EQ(stream(*wire, {R"({"error":{"message":"boom","type":"server_error"}})"}), "overloaded");
  for (const char* bad : {"{", "[]", "null", R"({"choices":1})", R"({"choices":[1]})",
                          R"({"choices":[{"delta":[]}]})", R"({"choices":[{"delta":{"tool_calls":1}}]})"}) {
    EXPECT_EQ(stream(*wire, {bad}), "malformed-answer") << bad;
  }
}

TEST(OpenAi, ToolCallsComeInPieces) {
  const auto wire = openai_wire(server(), false);
  const auto piece = [](int index, const std::string& rest) {
    return delta(fmt::format(R"("tool_calls":[{{"index":{}{}}}])", index, rest));
  };
  EXPECT_EQ(stream(*wire, {piece(1, R"(,"id":"b","function":{"name":"judge","arguments":""})"),
                           piece(0, R"(,"id":"a","function":{"name":"read","arguments":"{\"pa"})"),
                           piece(1, R"(,"function":{"arguments":"{}"})"),
                           piece(0, R"(,"function":{"arguments":"th\":1}"})"), delta("", R"("tool_calls")"),
                           "[DONE]"}),
            R"(|a read {"path":1}|b judge {}|calls 0+0? m-1-2026)");
  // Whole calls without numbers; no id, no arguments.
  EXPECT_EQ(stream(*wire, {delta(R"("tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}}])"),
                           delta(R"("tool_calls":[{"id":"y","function":{"name":"g","arguments":{"a":1}}}])"),
                           delta("", R"("stop")")}),
            R"(|x f {}|y g {"a":1}|calls 0+0? m-1-2026)");
  EXPECT_EQ(stream(*wire, {piece(0, R"(,"function":{"name":"f"})"), delta("", R"("stop")")}),
            "| f {}|calls 0+0? m-1-2026");
  EXPECT_EQ(stream(*wire,
                   {piece(0, R"(,"function":{"name":"f","arguments":"{\"a\":"})"), delta("", R"("length")")}),
            "malformed-answer");
  EXPECT_EQ(stream(*wire, {piece(0, R"(,"function":{"arguments":"{}"})"), delta("", R"("stop")")}),
            "malformed-answer");
  std::vector<std::string> many;
  for (int i = 0; i < 200; ++i) many.push_back(piece(i, R"(,"function":{"name":"f"})"));
  EXPECT_EQ(stream(*wire, many), "malformed-answer");
}

TEST(OpenAi, Whole) {
  const auto wire = openai_wire(server(), false);
  const auto whole = [&](std::string_view text) { return shown(wire->read_whole(parse_json(text))); };
  EXPECT_EQ(
      whole(
          R"({"model":"m","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}})"),
      "hi|end 1+2 m");
  EXPECT_EQ(
      whole(
          R"({"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"{}"}}]}}]})"),
      "|a f {}|b f {}|calls 0+0? ");
  EXPECT_EQ(whole(R"({"choices":[]})"), "malformed-answer");
  EXPECT_EQ(whole("[]"), "malformed-answer");
}

std::string block(const std::string& start) {
  return R"({"type":"content_block_start","index":1,"content_block":)" + start + "}";
}

TEST(Anthropic, Streams) {
  const auto wire = anthropic_wire(server());
  const std::string start =
      R"({"type":"message_start","message":{"model":"c-1","usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}})";
  const auto text = [](const std::string& t) {
    return R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":")" + t + R"("}})";
  };
  const auto input = [](const std::string& t) {
    return R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":")" +
           t + R"("}})";
  };
  const auto end = [](const std::string& reason) {
    return R"({"type":"message_delta","delta":{"stop_reason":")" + reason +
           R"("},"usage":{"output_tokens":7}})";
  };
  const std::string stop = R"({"type":"message_stop"})";
  EXPECT_EQ(stream(*wire, {start, R"({"type":"ping"})", text("Gr"), text("üß"), end("end_turn"), stop}),
            "Grüß|end 15+7 c-1");
  EXPECT_EQ(
      stream(*wire, {start, text("a"), block(R"({"type":"tool_use","id":"t1","name":"judge","input":{}})"),
                     input("{\\\"a"), input("\\\":2}"), end("tool_use"), stop}),
      R"(a|t1 judge {"a":2}|calls 15+7 c-1)");
  EXPECT_EQ(stream(*wire, {start, text("a"), end("max_tokens"), stop}), "a|length 15+7 c-1");
  EXPECT_EQ(stream(*wire, {start, text("a"), end("stop_sequence"), stop}), "a|stop 15+7 c-1");
  EXPECT_EQ(stream(*wire, {start, end("refusal"), stop}), "refused");
  EXPECT_EQ(stream(*wire, {start, text("a")}), "cut-stream");
  EXPECT_EQ(stream(*wire, {start, R"({"type":"error","error":{"type":"overloaded_error","message":"x"}})"}),
            "overloaded");
  EXPECT_EQ(stream(*wire, {"x"}), "malformed-answer");
  EXPECT_EQ(
      shown(wire->read_whole(parse_json(
          R"({"model":"c","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hi"},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}],
                                              "stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}})"))),
      R"(hi|t f {"a":1}|calls 1+2 c)");
  EXPECT_EQ(shown(wire->read_whole(parse_json("{}"))), "malformed-answer");
}

Request conversation() {
  Request request;
  request.messages = {{Role::kSystem, "be brief", {}, ""},
                      {Role::kUser, "go", {}, ""},
                      {Role::kAssistant, "", {{"a", "f", R"({"x":1})"}, {"b", "g", "{}"}}, ""},
                      {Role::kTool, "1", {}, "a"},
                      {Role::kTool, "\xff", {}, "b"}};
  request.tools = {{"f", "does f", R"({"type":"object"})"}};
  request.stop = {"END"};
  request.max_output_tokens = 100;
  return request;
}

TEST(Wires, Bodies) {
  ASSERT_TRUE(check(conversation()));
  const Json openai = parse_json(openai_wire(server(), false)->body(conversation()));
  EXPECT_EQ(openai["max_tokens"], 100);
  EXPECT_FALSE(openai.contains("temperature"));
  EXPECT_EQ(openai["messages"][2]["content"], nullptr);
  EXPECT_EQ(openai["messages"][2]["tool_calls"][0]["function"]["arguments"], R"({"x":1})");
  EXPECT_EQ(openai["messages"][4], Json({{"role", "tool"}, {"tool_call_id", "b"}, {"content", "\uFFFD"}}));
  EXPECT_EQ(openai["tools"][0]["function"]["parameters"]["type"], "object");
  EXPECT_TRUE(
      parse_json(openai_wire(server(), true)->body(conversation())).contains("max_completion_tokens"));

  const Json anthropic = parse_json(anthropic_wire(server())->body(conversation()));
  EXPECT_EQ(anthropic["system"], "be brief");
  ASSERT_EQ(anthropic["messages"].size(), 3u);  // both results stand in one message
  EXPECT_EQ(anthropic["messages"][1]["content"][0]["input"]["x"], 1);
  EXPECT_EQ(anthropic["messages"][2]["role"], "user");
  EXPECT_EQ(anthropic["messages"][2]["content"].size(), 2u);
  EXPECT_EQ(anthropic["stop_sequences"][0], "END");
}

TEST(Requests, AreChecked) {
  const auto broken = [](const std::function<void(Request&)>& change) {
    Request request = conversation();
    change(request);
    return !check(request);
  };
  EXPECT_TRUE(broken([](Request& r) { r.messages.clear(); }));
  EXPECT_TRUE(broken([](Request& r) { r.max_output_tokens = 0; }));
  EXPECT_TRUE(broken([](Request& r) { r.temperature = -1; }));
  EXPECT_TRUE(broken([](Request& r) { r.stop = {""}; }));
  EXPECT_TRUE(broken([](Request& r) { r.tools[0].schema = "[]"; }));
  EXPECT_TRUE(broken([](Request& r) { r.tools[0].name = "a b"; }));
  EXPECT_TRUE(broken([](Request& r) { r.tools.push_back(r.tools[0]); }));
  EXPECT_TRUE(broken([](Request& r) { r.messages[2].tool_calls[0].arguments = "x"; }));
  EXPECT_TRUE(broken([](Request& r) { r.messages[3].tool_call_id = "z"; }));
}

// Any mutation of any event: a reply or a failure, never a crash.
TEST(Wires, AnyBytesAreAnAnswerOrAFailure) {
  Rng rng(3);
  const std::string seeds[] = {
      delta(R"("content":"x","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}])",
            R"("stop")"),
      R"({"type":"message_start","message":{"model":"c","usage":{"input_tokens":1}}})",
      block(R"({"type":"tool_use","id":"t","name":"f","input":{"a":[1]}})"),
      R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}})",
      R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}})",
      std::string(500, '['),
      R"({"usage":{"prompt_tokens":-1}})"};
  const char* tokens[] = {"null",        "[]",  "{}", "1e999", "-1", "\"\"", "18446744073709551615",
                          "\"\\ud800\"", "true"};
  const auto openai = openai_wire(server(), false), anthropic = anthropic_wire(server());
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::string> events;
    for (uint64_t n = 1 + rng.below(3); n > 0; --n) {
      std::string text = seeds[rng.below(std::size(seeds))];
      for (uint64_t edits = rng.below(3); edits > 0; --edits) {
        const size_t at = rng.below(text.size());
        if (rng.below(3) == 0)
          text[at] = static_cast<char>(rng.below(256));
        else if (const size_t colon = text.find(':', at); colon != std::string::npos)
          text.replace(colon + 1, std::min<size_t>(rng.below(8), text.size() - colon - 1),
                       tokens[rng.below(std::size(tokens))]);
      }
      events.push_back(text);
    }
    for (const Wire* wire : {openai.get(), anthropic.get()}) {
      stream(*wire, events);
      shown(wire->read_whole(parse_json(events[0])));
    }
  }
}

}  // namespace
}  // namespace kw::llm
