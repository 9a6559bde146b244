#include "llm/http_message.h"

#include <algorithm>
#include <charconv>

namespace kw::llm {
namespace {

constexpr size_t kMostHeadBytes = 64 << 10;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

template <typename T>
bool parse_number(std::string_view text, T& value, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

std::string Url::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == (tls ? 443 : 80) ? name : fmt::format("{}:{}", name, port);
}

bool Url::loopback() const { return host == "localhost" || host == "::1" || host.starts_with("127."); }

Result<Url> parse_url(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    Error error{ErrorCode::kInvalid, fmt::format("the address is not what is needed: {}", why), {}, {}, {}};
    error.notes.push_back("write it like https://host/v1 or http://localhost:8000/v1");
    return fail(std::move(error));
  };
  Url url;
  const size_t scheme_end = text.find("://");
  const std::string scheme = lower(text.substr(0, scheme_end));
  if (scheme_end == std::string_view::npos || (scheme != "http" && scheme != "https"))
    return wrong("it begins with neither http:// nor https://");
  url.tls = scheme == "https";
  url.port = url.tls ? 443 : 80;
  std::string_view rest = text.substr(scheme_end + 3);
  if (rest.find_first_of("?#") != std::string_view::npos) return wrong("it has a '?' or a '#'");
  for (const char c : rest) {
    if (c <= ' ' || c > '~' || c == '\\' || c == '"') return wrong("it has a character that no address has");
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  std::string_view authority = rest.substr(0, slash);
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    url.user_info = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) return wrong("a '[' without its ']'");
    url.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
    if (!port.empty() && port[0] != ':') return wrong("']' is followed by something else than a port");
  } else {
    const size_t colon = std::min(authority.find(':'), authority.size());
    url.host = lower(authority.substr(0, colon));
    port = authority.substr(colon);
  }
  if (url.host.empty()) return wrong("it names no host");
  if (!port.empty() && (!parse_number(port.substr(1), url.port) || url.port == 0))
    return wrong("its port is no number from 1 to 65535");
  return url;
}

std::string ResponseHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

bool ResponseParser::in_lines() const {
  switch (state_) {
    case State::kStatus:
    case State::kHeaders:
    case State::kChunkSize:
    case State::kChunkEnd:
    case State::kTrailers: return true;
    case State::kLength:
    case State::kUntilEnd:
    case State::kChunk:
    case State::kDone: return false;
  }
  return false;
}

Status ResponseParser::take_status(std::string_view line) {
  int status = 0;
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ' ||
      !parse_number(line.substr(9, 3), status) || status < 100) {
    return fail(ErrorCode::kInvalid, "the answer does not begin as HTTP/1.1 does");
  }
  head_ = {status, {}};
  state_ = State::kHeaders;
  return {};
}

Status ResponseParser::take_header(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0)
    return fail(ErrorCode::kInvalid, "a header of the answer has no name");
  head_.headers.emplace_back(lower(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  return {};
}

Status ResponseParser::begin_body() {
  if (head_.status < 200) {  // 100 Continue: the real answer follows
    state_ = State::kStatus;
    return {};
  }
  if (head_.status == 204 || head_.status == 304) {
    state_ = State::kDone;
    return {};
  }
  const std::string encoding = lower(head_.header("transfer-encoding"));
  if (!encoding.empty()) {
    if (encoding != "chunked")
      return fail(ErrorCode::kInvalid, "the answer comes in an encoding that was not asked for");
    state_ = State::kChunkSize;
    return {};
  }
  const std::string length = head_.header("content-length");
  if (length.empty()) {
    state_ = State::kUntilEnd;
    return {};
  }
  if (!parse_number(std::string_view(length), left_))
    return fail(ErrorCode::kInvalid, "the Content-Length of the answer is no number");
  state_ = left_ == 0 ? State::kDone : State::kLength;
  return {};
}

Status ResponseParser::take_line(std::string_view line) {
  switch (state_) {
    case State::kStatus: return take_status(line);
    case State::kHeaders: return line.empty() ? begin_body() : take_header(line);
    case State::kChunkSize: {
      const std::string_view digits = trimmed(line.substr(0, line.find(';')));
      if (digits.size() > 15 || !parse_number(digits, left_, 16))
        return fail(ErrorCode::kInvalid, "a chunk of the answer has no size");
      state_ = left_ == 0 ? State::kTrailers : State::kChunk;
      return {};
    }
    case State::kChunkEnd:
      if (!line.empty()) return fail(ErrorCode::kInvalid, "a chunk of the answer is longer than it said");
      state_ = State::kChunkSize;
      return {};
    case State::kTrailers:
      if (line.empty()) state_ = State::kDone;
      return {};
    case State::kLength:
    case State::kUntilEnd:
    case State::kChunk:
    case State::kDone: return {};
  }
  return {};
}

Status ResponseParser::feed(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty() && !stopped_ && state_ != State::kDone) {
    if (!in_lines()) {
      const uint64_t most =
          state_ == State::kUntilEnd ? bytes.size() : std::min<uint64_t>(left_, bytes.size());
      stopped_ = !sink(head_, bytes.substr(0, most));
      bytes.remove_prefix(most);
      if (state_ == State::kUntilEnd) continue;
      left_ -= most;
      if (left_ == 0) state_ = state_ == State::kLength ? State::kDone : State::kChunkEnd;
      continue;
    }
    const size_t end = bytes.find('\n');
    const size_t taken = std::min(end, bytes.size());
    // Heads and trailers together; between chunks a line stands alone.
    head_bytes_ = state_ == State::kChunkSize || state_ == State::kChunkEnd ? line_.size() + taken
                                                                            : head_bytes_ + taken + 1;
    if (head_bytes_ > kMostHeadBytes)
      return fail(ErrorCode::kLimit, "the head of the answer has more than {} bytes", kMostHeadBytes);
    line_.append(bytes.substr(0, taken));
    if (end == std::string_view::npos) return {};
    bytes.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    const std::string line = std::move(line_);
    line_.clear();
    KW_TRY_VOID(take_line(line));
  }
  return {};
}

bool ResponseParser::end() {
  if (state_ == State::kUntilEnd) state_ = State::kDone;
  return done();
}

}  // namespace kw::llm
