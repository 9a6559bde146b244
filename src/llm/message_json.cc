#include "llm/message_json.h"

#include <algorithm>
#include <array>

namespace kw::llm {
namespace {

constexpr std::array<const char*, 4> kRoles = {"system", "user", "assistant", "tool"};
constexpr std::array<const char*, 4> kFinishes = {"end", "length", "tool-calls", "stop-sequence"};

Json calls_json(const std::vector<ToolCall>& calls) {
  Json out = Json::array();
  for (const ToolCall& call : calls) out.push_back(to_json(call));
  return out;
}

std::string shown(const Json* json) {
  if (json == nullptr) return "nothing";
  std::string text = json_text(*json);
  constexpr size_t kMost = 80;
  if (text.size() <= kMost) return text;
  size_t cut = kMost;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;  // not within a character
  return text.substr(0, cut) + "…";
}

// Long texts that differ late would be shown alike: both start shortly before the place.
std::string texts_differ(const std::string& a, const std::string& b) {
  size_t at = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const size_t place = at;
  at -= std::min<size_t>(at, 20);
  while (at > 0 && (static_cast<unsigned char>(a[at]) & 0xc0) == 0x80) --at;
  const Json left = a.substr(at), right = b.substr(std::min(at, b.size()));
  return fmt::format("from byte {} on, {} and {}", place, shown(&left), shown(&right));
}

std::string differ(const std::string& path, const Json* a, const Json* b) {
  if (a != nullptr && b != nullptr) {
    if (a->is_object() && b->is_object()) {
      for (const auto& [key, value] : a->items()) {
        const auto found = b->find(key);
        std::string inner = differ(path + "/" + key, &value, found == b->end() ? nullptr : &*found);
        if (!inner.empty()) return inner;
      }
      for (const auto& [key, value] : b->items()) {
        if (!a->contains(key)) return differ(path + "/" + key, nullptr, &value);
      }
      return "";
    }
    if (a->is_array() && b->is_array()) {
      for (size_t i = 0; i < std::max(a->size(), b->size()); ++i) {
        std::string inner = differ(fmt::format("{}/{}", path, i), i < a->size() ? &(*a)[i] : nullptr,
                                   i < b->size() ? &(*b)[i] : nullptr);
        if (!inner.empty()) return inner;
      }
      return "";
    }
    if (*a == *b) return "";
    if (a->is_string() && b->is_string()) {
      return fmt::format("{}: {}", path,
                         texts_differ(a->get_ref<const std::string&>(), b->get_ref<const std::string&>()));
    }
  }
  return fmt::format("{}: {} and {}", path, shown(a), shown(b));
}

}  // namespace

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json to_json(const ToolCall& call) {
  return {{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}};
}

Json to_json(const Request& request) {
  Json messages = Json::array();
  for (const Message& message : request.messages) {
    Json out = {{"role", kRoles[static_cast<size_t>(message.role)]}, {"text", message.text}};
    if (!message.tool_calls.empty()) out["tool_calls"] = calls_json(message.tool_calls);
    if (!message.tool_call_id.empty()) out["tool_call_id"] = message.tool_call_id;
    messages.push_back(std::move(out));
  }
  Json out = {{"messages", std::move(messages)}, {"max_output_tokens", request.max_output_tokens}};
  if (request.temperature) out["temperature"] = *request.temperature;
  if (!request.stop.empty()) out["stop"] = request.stop;
  for (const ToolSpec& tool : request.tools) {
    out["tools"].push_back({{"name", tool.name}, {"description", tool.description}, {"schema", tool.schema}});
  }
  return out;
}

Json to_json(const Reply& reply) {
  Json out = {
      {"text", reply.text},
      {"usage", {{"input_tokens", reply.usage.input_tokens}, {"output_tokens", reply.usage.output_tokens}}},
      {"finish", kFinishes[static_cast<size_t>(reply.finish)]},
      {"model", reply.model}};
  if (reply.usage.estimated) out["usage"]["estimated"] = true;
  if (!reply.tool_calls.empty()) out["tool_calls"] = calls_json(reply.tool_calls);
  return out;
}

Json to_json(const Failure& failure) {
  return {{"kind", name_of(failure.kind)}, {"message", failure.message}, {"notes", failure.notes}};
}

const Json& member(const Json& json, const char* name) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  const auto found = json.find(name);
  return found == json.end() ? kNull : *found;
}

std::string text_member(const Json& json, const char* name) {
  const Json& value = member(json, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

uint64_t count_member(const Json& json, const char* name) {
  const Json& value = member(json, name);
  return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}

Result<Reply> reply_from_json(const Json& json) {
  const auto wrong = [](std::string_view what) {
    return kw::fail(ErrorCode::kInvalid, "'{}' of a reply is missing or not what it should be", what);
  };
  Reply reply;
  if (!member(json, "text").is_string()) return wrong("text");
  reply.text = text_member(json, "text");
  reply.model = text_member(json, "model");
  const Json& usage = member(json, "usage");
  reply.usage.input_tokens = count_member(usage, "input_tokens");
  reply.usage.output_tokens = count_member(usage, "output_tokens");
  reply.usage.estimated = !usage.is_object() || member(usage, "estimated") == Json(true);
  const Json& finish = member(json, "finish");
  if (!finish.is_null()) {
    const auto at = std::find_if(kFinishes.begin(), kFinishes.end(),
                                 [&](const char* name) { return finish == Json(name); });
    if (at == kFinishes.end()) return wrong("finish");
    reply.finish = static_cast<FinishReason>(at - kFinishes.begin());
  }
  const Json& calls = member(json, "tool_calls");
  if (!calls.is_null() && !calls.is_array()) return wrong("tool_calls");
  for (const Json& each : calls) {
    const Json& arguments = member(each, "arguments");  // text, or what a person rather writes: the object
    ToolCall call{text_member(each, "id"), text_member(each, "name"),
                  arguments.is_object() ? json_text(arguments) : text_member(each, "arguments")};
    if (call.name.empty() || !parse_json(call.arguments).is_object()) return wrong("tool_calls");
    reply.tool_calls.push_back(std::move(call));
  }
  return reply;
}

Result<Failure> failure_from_json(const Json& json) {
  const auto kind = failure_kind(text_member(json, "kind"));
  if (!kind) return kw::fail(ErrorCode::kInvalid, "'kind' of a failure is missing or unknown");
  Failure failure = make_failure(*kind, text_member(json, "message"));
  for (const Json& note : member(json, "notes")) {
    if (note.is_string()) failure.notes.push_back(note.get<std::string>());
  }
  return failure;
}

std::string difference(const Json& a, const Json& b) { return differ("", &a, &b); }

}  // namespace kw::llm
