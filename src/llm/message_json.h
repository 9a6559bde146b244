// Requests, replies and failures as JSON, the form that transcripts and mailboxes hold (docs/formats/llm.md),
// and JSON from outside read within bounds. Pure; thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_fields.h"  // parse_json: bounded in depth
#include "llm/failure.h"
#include "llm/message.h"

namespace kw::llm {

using Json = nlohmann::json;

// On one line; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& json);

Json to_json(const Request& request);
Json to_json(const ToolCall& call);
Json to_json(const Reply& reply);
Json to_json(const Failure& failure);

// Errors: kInvalid, naming the member.
Result<Reply> reply_from_json(const Json& json);
Result<Failure> failure_from_json(const Json& json);

// Where two requests differ first, as a path and both values, cut short: "/messages/2/text: "a…" and "b…"".
// Empty when they do not.
std::string difference(const Json& a, const Json& b);

// The member as text; empty when it is absent or no string. Never throws, whatever `json` is.
std::string text_member(const Json& json, const char* name);
uint64_t count_member(const Json& json, const char* name);
// A null when it is absent or `json` is no object.
const Json& member(const Json& json, const char* name);

}  // namespace kw::llm
