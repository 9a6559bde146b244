// What a server's refusal means: status, headers and error body of the OpenAI and Anthropic protocols to a
// Failure. Pure; thread-safe. The key is redacted: bodies may echo it.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "llm/http_message.h"
#include "llm/key.h"
#include "llm/message_json.h"

namespace kw::llm {

// Who was asked, for messages and remedies.
struct Server {
  std::string name;  // "api.openai.com"
  std::string model;
  std::string key_variable;  // where its key is looked for: "OPENAI_API_KEY"
  Key key;
};

// `status` 0: an error that came within a stream.
Failure server_failure(int status, const Json& body, std::string_view raw, const Server& server);

// Seconds that the server asks to wait: Retry-After (seconds, or a date against `now`), retry-after-ms, and
// of rate limits that are used up the time until they are not. 0 when it does not say. At most a day.
double asked_wait(const ResponseHead& head, std::time_t now);

// "Tue, 01 Dec 2026 12:00:00 GMT" or "2026-12-01T12:00:00Z" as seconds since 1970; absent when it is neither.
std::optional<std::time_t> parse_date(const std::string& text);
// "1m30.5s", "20ms", "7" (seconds); absent when it is none.
std::optional<double> parse_duration(std::string_view text);

}  // namespace kw::llm
