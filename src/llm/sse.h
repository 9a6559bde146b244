// Server-sent events, the form in which replies are streamed:
// https://html.spec.whatwg.org/multipage/server-sent-events.html Bytes in, in pieces of any size; events out.
// Pure: not thread-safe, no I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::llm {

struct SseEvent {
  std::string event;  // "message" when the server names none
  std::string data;   // data lines, joined by line ends
};

class SseParser {
 public:
  // No line and no event is longer than `most_bytes`.
  explicit SseParser(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Calls `on_event` for every event that `bytes` complete; it returns false to stop, and feed() then
  // returns. Error kLimit: a line or event that is too long.
  Status feed(std::string_view bytes, const std::function<bool(const SseEvent&)>& on_event);

  // Whether bytes are left that make no whole event; an event counts only once an empty line ends it.
  bool unfinished() const { return !line_.empty() || !data_.empty(); }

 private:
  bool take_line(std::string_view line, const std::function<bool(const SseEvent&)>& on_event);
  uint64_t most_bytes_;
  std::string line_, event_, data_;
  bool has_data_ = false, after_cr_ = false, first_line_ = true;
};

}  // namespace kw::llm
