#include <algorithm>
#include <cmath>
#include <set>

#include "llm/message_json.h"

namespace kw::llm {
namespace {

bool good_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace

Status check(const Request& request) {
  const auto wrong = [](std::string what) {
    return kw::fail(ErrorCode::kInvalid, "the request to the model is not well formed: {}", what);
  };
  if (request.messages.empty()) return wrong("it has no message");
  if (request.max_output_tokens == 0) return wrong("it allows no output");
  if (request.temperature && !(std::isfinite(*request.temperature) && *request.temperature >= 0))
    return wrong("its temperature is no number from 0 up");
  if (std::any_of(request.stop.begin(), request.stop.end(),
                  [](const std::string& each) { return each.empty(); }))
    return wrong("a stop sequence is empty");
  std::set<std::string> tools, calls;
  for (const ToolSpec& tool : request.tools) {
    if (!good_name(tool.name)) return wrong(fmt::format("'{}' is no name for a tool", tool.name));
    if (!tools.insert(tool.name).second) return wrong(fmt::format("two tools are called '{}'", tool.name));
    if (!parse_json(tool.schema).is_object())
      return wrong(fmt::format("the schema of the tool '{}' is no JSON object", tool.name));
  }
  for (const Message& message : request.messages) {
    if (message.role != Role::kAssistant && !message.tool_calls.empty())
      return wrong("a message that is not the assistant's calls tools");
    for (const ToolCall& call : message.tool_calls) {
      if (call.id.empty() || call.name.empty() || !parse_json(call.arguments).is_object())
        return wrong("a tool call lacks an id, a name or arguments");
      calls.insert(call.id);
    }
    if (message.role == Role::kTool && calls.count(message.tool_call_id) == 0)
      return wrong("a tool's result names no call before it");
  }
  return {};
}

void identify_calls(Reply& reply, const Request& request) {
  size_t number = 0;
  for (const Message& message : request.messages) number += message.tool_calls.size();
  for (ToolCall& call : reply.tool_calls) {
    ++number;
    if (call.id.empty()) call.id = fmt::format("call_{}", number);
  }
}

}  // namespace kw::llm
