#include "llm/sse.h"

#include <algorithm>

namespace kw::llm {

bool SseParser::take_line(std::string_view line, const std::function<bool(const SseEvent&)>& on_event) {
  if (first_line_ && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);  // a byte order mark
  first_line_ = false;
  if (line.empty()) {
    bool go_on = true;
    if (has_data_) go_on = on_event({event_.empty() ? "message" : event_, data_});
    event_.clear();
    data_.clear();
    has_data_ = false;
    return go_on;
  }
  const size_t colon = std::min(line.find(':'), line.size());
  const std::string_view field = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  } else if (field == "event") {
    event_ = value;
  }
  return true;  // comments, "id" and "retry" say nothing to us
}

Status SseParser::feed(std::string_view bytes, const std::function<bool(const SseEvent&)>& on_event) {
  while (!bytes.empty()) {
    if (after_cr_ && bytes[0] == '\n')
      bytes.remove_prefix(1);  // "\r\n" is one line end, also between two pieces
    after_cr_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    const size_t taken = std::min(end, bytes.size());
    if (line_.size() + data_.size() + taken > most_bytes_) {
      return fail(ErrorCode::kLimit, "an event of the stream has more than {} bytes", most_bytes_);
    }
    line_.append(bytes.substr(0, taken));
    if (end == std::string_view::npos) return {};
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    const std::string line = std::move(line_);
    line_.clear();
    if (!take_line(line, on_event)) return {};
  }
  return {};
}

}  // namespace kw::llm
