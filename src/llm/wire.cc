#include "llm/wire.h"

#include "base/source_text.h"

namespace kw::llm {

constexpr size_t kMostCalls = 128;

void ReplyParts::add_text(const std::string& text) {
  if (text.empty()) return;
  text_ += text;
  if (on_text_) on_text_(text);
}

ToolCall* ReplyParts::call(uint64_t index) {
  if (calls_.size() == kMostCalls && calls_.count(index) == 0) return nullptr;
  return &calls_[index];
}

Answer<Reply> ReplyParts::reply(FinishReason finish) {
  Reply reply{std::move(text_), {}, usage, finish, model};
  for (auto& [index, call] : calls_) {
    if (call.arguments.find_first_not_of(" \t\r\n") == std::string::npos) call.arguments = "{}";
    if (call.name.empty())
      return fail(FailureKind::kMalformedAnswer, "a tool call of the answer has no name",
                  "ask again, or another model");
    if (!parse_json(call.arguments).is_object()) {
      return fail(FailureKind::kMalformedAnswer,
                  fmt::format("the arguments of the model's call of '{}' are no JSON object",
                              printable_text(call.name)),
                  finish == FinishReason::kLength ? "the output tokens did not suffice; allow more"
                                                  : "ask again, or another model");
    }
    reply.tool_calls.push_back(std::move(call));
  }
  if (!reply.tool_calls.empty() && finish == FinishReason::kEnd) reply.finish = FinishReason::kToolCalls;
  return reply;
}

Failure malformed_answer(std::string_view what, const Server& server) {
  return make_failure(
      FailureKind::kMalformedAnswer,
      fmt::format("the answer of {} is not what its protocol says: {}", server.name, what),
      "is the address that of a server of this protocol? A gateway between may also alter answers");
}

Failure refused_answer(std::string_view why, const Server& server) {
  std::string shown = server.key.redacted(why);
  if (shown.size() > 300) shown = shown.substr(0, 300) + "…";
  return make_failure(FailureKind::kRefused,
                      fmt::format("'{}' refuses to answer{}{}", server.model, shown.empty() ? "" : ": ",
                                  printable_text(shown)),
                      "change what is asked");
}

}  // namespace kw::llm
