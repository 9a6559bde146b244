// What is said to a language model and what it answers, in the words that every provider shares. Values;
// texts are UTF-8 (what is not is replaced when it is sent). Nothing here knows a wire format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::llm {

enum class Role : uint8_t { kSystem, kUser, kAssistant, kTool };

// A tool that the model may call. `schema` is the JSON schema (an object) of its arguments, as text.
struct ToolSpec {
  std::string name;  // letters, digits, '_' and '-', at most 64
  std::string description;
  std::string schema;
};

// `arguments` is a JSON object, as text. A provider may leave `id` empty; Model::ask() does not.
struct ToolCall {
  std::string id, name, arguments;
};

struct Message {
  Role role = Role::kUser;
  std::string text;
  std::vector<ToolCall> tool_calls;  // of an assistant
  std::string tool_call_id;          // of a tool: the call that `text` is the result of
};

struct Request {
  std::vector<Message> messages;
  std::vector<ToolSpec> tools;
  uint64_t max_output_tokens = 8192;
  std::optional<double> temperature;  // absent: what the provider takes by itself
  std::vector<std::string> stop;      // generation ends before one of these
};

enum class FinishReason : uint8_t { kEnd, kLength, kToolCalls, kStopSequence };

struct Usage {
  uint64_t input_tokens = 0, output_tokens = 0;
  bool estimated = false;  // the provider did not say: counted from bytes
};

struct Reply {
  std::string text;
  std::vector<ToolCall> tool_calls;
  Usage usage;
  FinishReason finish = FinishReason::kEnd;
  std::string model;  // as the provider says it; empty when it does not
};

// Whether every provider can be asked this: a message, sound tools, calls before their results. Error
// kInvalid.
Status check(const Request& request);

// Gives an id to the calls of a reply that came without: call_N, counted on from the calls of `request`.
void identify_calls(Reply& reply, const Request& request);

}  // namespace kw::llm
