// A vendor's protocol as pure functions: requests to bodies, bodies and streamed events to replies. What
// carries the bytes is http_provider's. Readers take any input without a crash; they are not thread-safe,
// wires are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "llm/message_json.h"
#include "llm/server_failure.h"
#include "llm/sse.h"

namespace kw::llm {

class ReplyReader {
 public:
  virtual ~ReplyReader() = default;
  // True when the reply is whole. Failures: kMalformedAnswer, kRefused, and what the server says went wrong.
  virtual Answer<bool> take(const SseEvent& event) = 0;
  // After the last event. Failures: kCutStream when it was not the last of the reply; kRefused,
  // kMalformedAnswer.
  virtual Answer<Reply> finish() = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual std::string path() const = 0;  // below the base address
  virtual std::vector<std::pair<std::string, std::string>> headers(const Key& key) const = 0;
  virtual std::string body(const Request& request) const = 0;
  virtual std::unique_ptr<ReplyReader> reader(std::function<void(std::string_view)> on_text) const = 0;
  // An answer that came in one piece, though a stream was asked for.
  virtual Answer<Reply> read_whole(const Json& body) const = 0;
};

// `completion_tokens`: api.openai.com and its newer models want max_completion_tokens, everything else
// max_tokens.
std::unique_ptr<Wire> openai_wire(const Server& server, bool completion_tokens);
std::unique_ptr<Wire> anthropic_wire(const Server& server);

// Text and tool calls while they come in pieces.
class ReplyParts {
 public:
  explicit ReplyParts(std::function<void(std::string_view)> on_text) : on_text_(std::move(on_text)) {}
  void add_text(const std::string& text);
  // The call that the server numbers `index`; null when there are more than 128.
  ToolCall* call(uint64_t index);
  // Empty arguments become {}. Failure kMalformedAnswer: arguments that are no JSON
  // object.
  Answer<Reply> reply(FinishReason finish);

  Usage usage{0, 0, true};
  std::string model;
  bool calls_begun() const { return !calls_.empty(); }
  size_t calls() const { return calls_.size(); }

 private:
  std::function<void(std::string_view)> on_text_;
  std::string text_;
  std::map<uint64_t, ToolCall> calls_;
};

Failure malformed_answer(std::string_view what, const Server& server);
Failure refused_answer(std::string_view why, const Server& server);

}  // namespace kw::llm
