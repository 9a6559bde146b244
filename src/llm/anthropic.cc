// The messages protocol of Anthropic: https://docs.anthropic.com/en/api/messages
#include "llm/wire.h"

namespace kw::llm {
namespace {

// Content blocks; a text of no bytes is none.
Json blocks(const Message& message) {
  if (message.role == Role::kTool)
    return Json::array(
        {{{"type", "tool_result"}, {"tool_use_id", message.tool_call_id}, {"content", message.text}}});
  Json out = Json::array();
  if (!message.text.empty()) out.push_back({{"type", "text"}, {"text", message.text}});
  for (const ToolCall& call : message.tool_calls) {
    out.push_back(
        {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", parse_json(call.arguments)}});
  }
  return out;
}

class AnthropicReader : public ReplyReader {
 public:
  AnthropicReader(const Server& server, std::function<void(std::string_view)> on_text)
      : server_(server), parts_(std::move(on_text)) {}

  Answer<bool> take(const SseEvent& event) override {
    const Json json = parse_json(event.data);
    if (!json.is_object()) return fail(malformed_answer("an event is no JSON object", server_));
    const std::string type = text_member(json, "type");
    if (type == "error") return fail(server_failure(0, json, event.data, server_));
    if (type == "message_start") {
      take_frame(member(json, "message"));
    } else if (type == "content_block_start") {
      return take_block(member(json, "content_block"), count_member(json, "index"));
    } else if (type == "content_block_delta") {
      const Json& delta = member(json, "delta");
      parts_.add_text(text_member(delta, "text"));
      if (text_member(delta, "type") == "input_json_delta") {
        ToolCall* call = parts_.call(count_member(json, "index"));
        if (call == nullptr) return fail(malformed_answer("it calls too many tools", server_));
        call->arguments += text_member(delta, "partial_json");
      }
    } else if (type == "message_delta") {
      if (std::string reason = text_member(member(json, "delta"), "stop_reason"); !reason.empty())
        reason_ = std::move(reason);
      take_usage(member(json, "usage"));
    } else if (type == "message_stop") {
      return finished_ = true;
    }
    return false;  // ping, content_block_stop, and what comes in later versions
  }

  Answer<Reply> finish() override {
    if (!finished_ && reason_.empty())
      return fail(FailureKind::kCutStream,
                  fmt::format("the stream of {} ended within the answer", server_.name), "ask again");
    if (reason_ == "refusal") return fail(refused_answer("", server_));
    if (reason_ == "max_tokens" || reason_ == "model_context_window_exceeded")
      return parts_.reply(FinishReason::kLength);
    if (reason_ == "stop_sequence") return parts_.reply(FinishReason::kStopSequence);
    return parts_.reply(FinishReason::kEnd);
  }

  Answer<Reply> whole(const Json& json) {
    if (!json.is_object()) return fail(malformed_answer("it is no JSON object", server_));
    if (text_member(json, "type") == "error") return fail(server_failure(0, json, "", server_));
    const Json& content = member(json, "content");
    if (!content.is_array()) return fail(malformed_answer("it has no content", server_));
    take_frame(json);
    reason_ = text_member(json, "stop_reason");
    finished_ = true;
    for (uint64_t i = 0; i < content.size(); ++i) {
      if (auto taken = take_block(content[i], i); !taken) return fail(std::move(taken.error()));
    }
    return finish();
  }

 private:
  void take_frame(const Json& message) {
    if (parts_.model.empty()) parts_.model = text_member(message, "model");
    take_usage(member(message, "usage"));
  }

  // Counts are cumulative, and the later ones may leave out what does not change.
  void take_usage(const Json& usage) {
    if (!usage.is_object()) return;
    const uint64_t input = count_member(usage, "input_tokens") +
                           count_member(usage, "cache_creation_input_tokens") +
                           count_member(usage, "cache_read_input_tokens");
    const uint64_t output = count_member(usage, "output_tokens");
    parts_.usage = {std::max(parts_.usage.input_tokens, input), std::max(parts_.usage.output_tokens, output),
                    false};
  }

  Answer<bool> take_block(const Json& block, uint64_t index) {
    parts_.add_text(text_member(block, "text"));
    if (text_member(block, "type") != "tool_use") return false;
    ToolCall* call = parts_.call(index);
    if (call == nullptr) return fail(malformed_answer("it calls too many tools", server_));
    call->id = text_member(block, "id");
    call->name = text_member(block, "name");
    const Json& input = member(block, "input");
    if (input.is_object() && !input.empty()) call->arguments = json_text(input);
    return false;
  }

  const Server& server_;
  ReplyParts parts_;
  std::string reason_;
  bool finished_ = false;
};

class AnthropicWire : public Wire {
 public:
  explicit AnthropicWire(const Server& server) : server_(server) {}

  std::string path() const override { return "/messages"; }

  std::vector<std::pair<std::string, std::string>> headers(const Key& key) const override {
    std::vector<std::pair<std::string, std::string>> out = {{"Accept", "text/event-stream, application/json"},
                                                            {"anthropic-version", "2023-06-01"}};
    if (!key.empty()) out.emplace_back("x-api-key", key.secret());
    return out;
  }

  std::string body(const Request& request) const override {
    Json out = {{"model", server_.model},
                {"stream", true},
                {"max_tokens", request.max_output_tokens},
                {"messages", Json::array()}};
    if (request.temperature) out["temperature"] = *request.temperature;
    if (!request.stop.empty()) out["stop_sequences"] = request.stop;
    std::string system;
    for (const Message& message : request.messages) {
      if (message.role == Role::kSystem) {
        system += (system.empty() ? "" : "\n\n") + message.text;
        continue;
      }
      const char* role = message.role == Role::kAssistant ? "assistant" : "user";
      Json content = blocks(message);
      if (content.empty()) continue;
      Json& messages = out["messages"];
      // The results of one turn's calls stand in one message.
      if (!messages.empty() && messages.back()["role"] == role) {
        for (Json& block : content) messages.back()["content"].push_back(std::move(block));
      } else {
        messages.push_back({{"role", role}, {"content", std::move(content)}});
      }
    }
    if (!system.empty()) out["system"] = system;
    for (const ToolSpec& tool : request.tools) {
      out["tools"].push_back({{"name", tool.name},
                              {"description", tool.description},
                              {"input_schema", parse_json(tool.schema)}});
    }
    return json_text(out);
  }

  std::unique_ptr<ReplyReader> reader(std::function<void(std::string_view)> on_text) const override {
    return std::make_unique<AnthropicReader>(server_, std::move(on_text));
  }

  Answer<Reply> read_whole(const Json& body) const override {
    return AnthropicReader(server_, {}).whole(body);
  }

 private:
  Server server_;
};

}  // namespace

std::unique_ptr<Wire> anthropic_wire(const Server& server) { return std::make_unique<AnthropicWire>(server); }

}  // namespace kw::llm
