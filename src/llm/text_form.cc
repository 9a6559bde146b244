#include "llm/text_form.h"

#include <algorithm>

#include "llm/message_json.h"

namespace kw::llm {
namespace {

constexpr std::string_view kOpening = "```tool", kClosing = "```";

void append_section(std::string& out, std::string_view title, std::string_view text) {
  out += fmt::format("{}[{}]\n{}", out.empty() ? "" : "\n", title, text);
  if (!out.ends_with('\n')) out += '\n';
}

std::string call_block(const ToolCall& call) {
  return fmt::format("{}\n{}\n{}\n", kOpening,
                     json_text({{"name", call.name}, {"arguments", parse_json(call.arguments)}}), kClosing);
}

std::string how_to_call(const Request& request) {
  std::string out =
      "You may call tools. For each call write a block like this one, with JSON on one or more lines, and "
      "nothing after the last; the "
      "results come with the next message.\n\n```tool\n{\"name\": \"NAME\", \"arguments\": {}}\n```\n";
  for (const ToolSpec& tool : request.tools) {
    out +=
        fmt::format("\n{}: {}\narguments, as a JSON schema: {}\n", tool.name, tool.description, tool.schema);
  }
  return out;
}

std::string_view without_trailing_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

Answer<ToolCall> read_call(const std::string& block, int line) {
  const Json json = parse_json(block);
  const std::string name = text_member(json, "name");
  const Json& arguments = member(json, "arguments");
  if (name.empty() || !(arguments.is_object() || arguments.is_null())) {
    return fail(
        FailureKind::kMalformedAnswer,
        fmt::format("the tool block in line {} of the reply is no JSON object with a name and arguments",
                    line),
        "write it like {\"name\": \"NAME\", \"arguments\": {}}");
  }
  return ToolCall{"", name, arguments.is_null() ? "{}" : json_text(arguments)};
}

}  // namespace

std::string prompt_text(const Request& request) {
  if (request.messages.size() == 1 && request.messages[0].role == Role::kUser && request.tools.empty())
    return request.messages[0].text;
  std::string out;
  for (const Message& message : request.messages) {
    switch (message.role) {
      case Role::kSystem: append_section(out, "system", message.text); break;
      case Role::kUser: append_section(out, "user", message.text); break;
      case Role::kTool: append_section(out, "result of " + message.tool_call_id, message.text); break;
      case Role::kAssistant: {
        std::string said = message.text;
        for (const ToolCall& call : message.tool_calls) {
          if (!said.empty() && !said.ends_with('\n')) said += '\n';
          said += call_block(call);
        }
        append_section(out, "assistant", said);
      }
    }
  }
  if (!request.tools.empty()) append_section(out, "how to answer", how_to_call(request));
  return out;
}

Answer<Reply> read_reply_text(std::string_view text, const Request& request) {
  Reply reply;
  reply.usage.estimated = true;
  size_t end = text.size();
  for (const std::string& stop : request.stop) end = std::min(end, text.find(stop));
  if (end < text.size()) reply.finish = FinishReason::kStopSequence;
  // Bytes that are not UTF-8 are replaced here, as the transcript would, so that its replay is the same
  // reply.
  std::string whole = parse_json(json_text(Json(text.substr(0, end)))).get<std::string>();
  if (request.tools.empty()) {
    reply.text = without_trailing_blanks(whole);
    return reply;
  }
  std::string block;
  int line = 0, opened = 0;  // the line of the block that is open
  for (std::string_view rest = whole; !rest.empty();) {
    const size_t length = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view with_end = rest.substr(0, length), bare = without_trailing_blanks(with_end);
    rest.remove_prefix(length);
    ++line;
    if (opened == 0 && bare == kOpening) {
      opened = line;
      block.clear();
    } else if (opened != 0 && bare == kClosing) {
      auto call = read_call(block, opened);
      if (!call) return fail(std::move(call.error()));
      reply.tool_calls.push_back(std::move(*call));
      opened = 0;
    } else {
      (opened != 0 ? block : reply.text) += with_end;
    }
  }
  if (opened != 0) {
    return fail(FailureKind::kMalformedAnswer,
                fmt::format("the tool block in line {} of the reply does not end", opened),
                "end it with a line of three backquotes");
  }
  reply.text = without_trailing_blanks(reply.text);
  if (!reply.tool_calls.empty()) reply.finish = FinishReason::kToolCalls;
  return reply;
}

}  // namespace kw::llm
