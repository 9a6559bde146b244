// The chat completions protocol of OpenAI, which vLLM, llama.cpp, Ollama and gateways speak too:
// https://platform.openai.com/docs/api-reference/chat
#include "llm/wire.h"

namespace kw::llm {
namespace {

Json message_body(const Message& message) {
  switch (message.role) {
    case Role::kSystem: return {{"role", "system"}, {"content", message.text}};
    case Role::kUser: return {{"role", "user"}, {"content", message.text}};
    case Role::kTool:
      return {{"role", "tool"}, {"tool_call_id", message.tool_call_id}, {"content", message.text}};
    case Role::kAssistant: break;
  }
  Json out = {{"role", "assistant"}, {"content", message.text}};
  if (message.tool_calls.empty()) return out;
  if (message.text.empty()) out["content"] = nullptr;
  for (const ToolCall& call : message.tool_calls) {
    out["tool_calls"].push_back({{"id", call.id},
                                 {"type", "function"},
                                 {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  return out;
}

class OpenAiReader : public ReplyReader {
 public:
  OpenAiReader(const Server& server, std::function<void(std::string_view)> on_text)
      : server_(server), parts_(std::move(on_text)) {}

  Answer<bool> take(const SseEvent& event) override {
    if (event.data == "[DONE]") return finished_ = true;
    const Json json = parse_json(event.data);
    if (!json.is_object()) return fail(malformed_answer("an event is no JSON object", server_));
    if (event.event == "error" || !member(json, "error").is_null())
      return fail(server_failure(0, json, event.data, server_));
    take_frame(json);
    const Json& choices = member(json, "choices");
    if (!choices.is_null() && !choices.is_array())
      return fail(malformed_answer("its choices are no list", server_));
    if (!choices.is_array() || choices.empty()) return false;  // usage alone
    auto taken = take_choice(choices[0], "delta");
    if (!taken) return fail(std::move(taken.error()));
    return false;
  }

  Answer<Reply> finish() override {
    if (finish_.empty() && !finished_)
      return fail(FailureKind::kCutStream,
                  fmt::format("the stream of {} ended within the answer", server_.name), "ask again");
    if (finish_ == "content_filter") return fail(refused_answer("its content filter stepped in", server_));
    if (!refusal_.empty()) return fail(refused_answer(refusal_, server_));
    if (finish_ == "error")
      return fail(FailureKind::kOverloaded, fmt::format("{} gave up within the answer", server_.name),
                  "ask again later");
    if (finish_ == "length") return parts_.reply(FinishReason::kLength);
    return parts_.reply(parts_.calls_begun() ? FinishReason::kToolCalls : FinishReason::kEnd);
  }

  Answer<Reply> whole(const Json& json) {
    if (!json.is_object()) return fail(malformed_answer("it is no JSON object", server_));
    if (!member(json, "error").is_null()) return fail(server_failure(0, json, "", server_));
    take_frame(json);
    const Json& choices = member(json, "choices");
    if (!choices.is_array() || choices.empty()) return fail(malformed_answer("it has no choices", server_));
    auto taken = take_choice(choices[0], "message");
    if (!taken) return fail(std::move(taken.error()));
    finished_ = true;
    return finish();
  }

 private:
  void take_frame(const Json& json) {
    if (parts_.model.empty()) parts_.model = text_member(json, "model");
    const Json& usage = member(json, "usage");
    if (usage.is_object())
      parts_.usage = {count_member(usage, "prompt_tokens"), count_member(usage, "completion_tokens"), false};
  }

  Answer<void> take_choice(const Json& choice, const char* part) {
    if (!choice.is_object()) return fail(malformed_answer("a choice is no object", server_));
    const Json& delta = member(choice, part);
    if (!delta.is_null() && !delta.is_object())
      return fail(malformed_answer("a choice has no message", server_));
    parts_.add_text(text_member(delta, "content"));
    refusal_ += text_member(delta, "refusal");
    const Json& calls = member(delta, "tool_calls");
    if (!calls.is_null() && !calls.is_array())
      return fail(malformed_answer("its tool calls are no list", server_));
    uint64_t position = 0;
    for (const Json& each : calls) {
      ToolCall* call = parts_.call(index_of(each, part, position++));
      if (call == nullptr) return fail(malformed_answer("it calls too many tools", server_));
      const Json& function = member(each, "function");
      if (call->id.empty()) call->id = text_member(each, "id");
      if (call->name.empty()) call->name = text_member(function, "name");
      const Json& arguments = member(function, "arguments");
      call->arguments += arguments.is_object() ? json_text(arguments) : text_member(function, "arguments");
    }
    if (std::string finish = text_member(choice, "finish_reason"); !finish.empty())
      finish_ = std::move(finish);
    return {};
  }

  // Some servers send whole calls without numbering them: one with an id of its own is another call.
  uint64_t index_of(const Json& call, const char* part, uint64_t position) {
    const Json& index = member(call, "index");
    if (index.is_number_unsigned()) return index.get<uint64_t>();
    if (std::string_view(part) == "message") return position;
    const std::string id = text_member(call, "id");
    if (parts_.calls() == 0 || (!id.empty() && id != last_id_)) {
      last_id_ = id;
      return parts_.calls();
    }
    return parts_.calls() - 1;
  }

  const Server& server_;
  ReplyParts parts_;
  std::string finish_, refusal_, last_id_;
  bool finished_ = false;
};

class OpenAiWire : public Wire {
 public:
  OpenAiWire(const Server& server, bool completion_tokens)
      : server_(server), completion_tokens_(completion_tokens) {}

  std::string path() const override { return "/chat/completions"; }

  std::vector<std::pair<std::string, std::string>> headers(const Key& key) const override {
    std::vector<std::pair<std::string, std::string>> out = {
        {"Accept", "text/event-stream, application/json"}};
    if (!key.empty()) out.emplace_back("Authorization", "Bearer " + key.secret());
    return out;
  }

  std::string body(const Request& request) const override {
    Json out = {{"model", server_.model}, {"stream", true}, {"stream_options", {{"include_usage", true}}}};
    out[completion_tokens_ ? "max_completion_tokens" : "max_tokens"] = request.max_output_tokens;
    if (request.temperature) out["temperature"] = *request.temperature;
    if (!request.stop.empty()) out["stop"] = request.stop;
    for (const Message& message : request.messages) out["messages"].push_back(message_body(message));
    for (const ToolSpec& tool : request.tools) {
      out["tools"].push_back({{"type", "function"},
                              {"function",
                               {{"name", tool.name},
                                {"description", tool.description},
                                {"parameters", parse_json(tool.schema)}}}});
    }
    return json_text(out);
  }

  std::unique_ptr<ReplyReader> reader(std::function<void(std::string_view)> on_text) const override {
    return std::make_unique<OpenAiReader>(server_, std::move(on_text));
  }

  Answer<Reply> read_whole(const Json& body) const override { return OpenAiReader(server_, {}).whole(body); }

 private:
  Server server_;
  bool completion_tokens_;
};

}  // namespace

std::unique_ptr<Wire> openai_wire(const Server& server, bool completion_tokens) {
  return std::make_unique<OpenAiWire>(server, completion_tokens);
}

}  // namespace kw::llm
