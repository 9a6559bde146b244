// HTTP/1.1 as far as a client needs it: addresses, and responses parsed as their bytes come (RFC 9110, RFC
// 9112). Pure, and bounded whatever the bytes: a head has at most 64 KiB. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw::llm {

struct Url {
  bool tls = false;
  std::string host;  // IPv6 without brackets
  uint16_t port = 0;
  std::string path;       // begins with '/' or is empty; never ends with one
  std::string user_info;  // "name:password", as written; for proxies alone

  std::string authority()
      const;  // host:port as a Host header has it, without a port that goes without saying
  bool loopback() const;
};

// http or https, a host, a port or none, a path or none. Query and fragment are refused.
Result<Url> parse_url(std::string_view text);

struct ResponseHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  // Of the first of that name; empty when there is none.
  std::string header(std::string_view name) const;
};

class ResponseParser {
 public:
  // Gets the body in pieces, after the head; false stops.
  using Sink = std::function<bool(const ResponseHead&, std::string_view)>;

  // Errors: kInvalid (no HTTP/1.x response), kLimit (a head that is too long).
  Status feed(std::string_view bytes, const Sink& sink);
  // The connection has ended. True when the response is whole.
  bool end();

  bool done() const { return state_ == State::kDone; }
  bool stopped() const { return stopped_; }
  bool has_head() const { return state_ > State::kHeaders; }
  const ResponseHead& head() const { return head_; }

 private:
  enum class State { kStatus, kHeaders, kLength, kUntilEnd, kChunkSize, kChunk, kChunkEnd, kTrailers, kDone };
  Status take_line(std::string_view line);
  Status take_status(std::string_view line);
  Status take_header(std::string_view line);
  Status begin_body();
  bool in_lines() const;
  State state_ = State::kStatus;
  ResponseHead head_;
  std::string line_;
  uint64_t left_ = 0;  // bytes of the body or chunk
  size_t head_bytes_ = 0;
  bool stopped_ = false;
};

}  // namespace kw::llm
