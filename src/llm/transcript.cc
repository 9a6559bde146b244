#include "llm/transcript.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/file.h"

namespace kw::llm {
namespace {

constexpr uint64_t kLargest = 1ull << 30;
constexpr int kVersion = 1;

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Result<Exchange> parse_line(std::string_view line) {
  const Json json = parse_json(line);
  if (!json.is_object() || member(json, "kw_transcript") != Json(kVersion)) {
    return kw::fail(ErrorCode::kInvalid, "this line is no exchange of a transcript of version {}", kVersion);
  }
  Exchange exchange;
  exchange.request = member(json, "request");
  if (!exchange.request.is_object())
    return kw::fail(ErrorCode::kInvalid, "'request' is missing or no object");
  exchange.provider = text_member(json, "provider");
  exchange.attempts = static_cast<unsigned>(count_member(json, "attempts"));
  const Json& seconds = member(json, "seconds");
  exchange.seconds = seconds.is_number() ? seconds.get<double>() : 0;
  if (json.contains("failure")) {
    KW_TRY(exchange.outcome, failure_from_json(json["failure"]));
  } else {
    KW_TRY(exchange.outcome, reply_from_json(member(json, "reply")));
  }
  return exchange;
}

// Bytes after the last line end.
size_t torn_bytes(std::string_view text) {
  const size_t end = text.rfind('\n');
  return text.size() - (end == std::string_view::npos ? 0 : end + 1);
}

std::string torn_note(const std::string& path, size_t bytes) {
  return fmt::format("{}: the last line was not finished ({} bytes); it is dropped", path, bytes);
}

Status write_line(int fd, std::string_view line) {
  while (!line.empty()) {
    const ssize_t n = write(fd, line.data(), line.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return kw::fail(ErrorCode::kIo, "{}", std::strerror(errno));
    line.remove_prefix(static_cast<size_t>(n));
  }
  if (fsync(fd) != 0 && errno != EINVAL) return kw::fail(ErrorCode::kIo, "{}", std::strerror(errno));
  return {};
}

}  // namespace

Transcript::Transcript(Transcript&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::move(other.fd_)),
      end_(other.end_),
      lines_(other.lines_),
      notes_(std::move(other.notes_)) {}

Result<Transcript> Transcript::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd) return kw::fail(ErrorCode::kIo, "cannot write the transcript {}: {}", path, std::strerror(errno));
  struct stat info{};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return kw::fail(ErrorCode::kInvalid, "the transcript {} is no regular file", path);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return kw::fail(ErrorCode::kLimit, "another process is writing the transcript {}; name another file",
                    path);
  }
  // Locked before it is read: what another process has half written is not torn.
  KW_TRY(const std::string text, read_file(path, kLargest));
  const size_t torn = torn_bytes(text);
  const size_t whole = text.size() - torn;
  KW_TRY(const RecordedExchanges recorded, parse_transcript(std::string_view(text).substr(0, whole), path));
  Transcript transcript(path, std::move(fd));
  transcript.end_ = whole;
  transcript.lines_ = recorded.exchanges.size();
  if (torn > 0) {
    // A file that only ever held something else is not ours to cut.
    if (whole == 0 && text[0] != '{')
      return kw::fail(ErrorCode::kInvalid, "{} is no transcript; name another file", path);
    if (ftruncate(transcript.fd_.get(), static_cast<off_t>(whole)) != 0) {
      return kw::fail(ErrorCode::kIo, "cannot drop the unfinished line of {}: {}", path,
                      std::strerror(errno));
    }
    transcript.notes_.push_back(torn_note(path, torn));
  }
  return transcript;
}

Status Transcript::append(const Exchange& exchange, const Key& key) {
  const std::lock_guard lock(mutex_);
  Json json = {{"kw_transcript", kVersion},   {"exchange", lines_ + 1},
               {"time", now_utc()},           {"provider", exchange.provider},
               {"request", exchange.request}, {"attempts", exchange.attempts},
               {"seconds", exchange.seconds}};
  if (const Reply* reply = std::get_if<Reply>(&exchange.outcome)) {
    json["reply"] = to_json(*reply);
  } else {
    json["failure"] = to_json(std::get<Failure>(exchange.outcome));
  }
  const std::string line = key.redacted(json_text(json)) + "\n";
  if (const Status written = write_line(fd_.get(), line); !written) {
    // A half of it must not stand before the next line.
    static_cast<void>(ftruncate(fd_.get(), static_cast<off_t>(end_)));
    return kw::fail(ErrorCode::kIo, "cannot write the transcript {}: {}", path_, written.error().message);
  }
  end_ += line.size();
  ++lines_;
  return {};
}

Result<RecordedExchanges> parse_transcript(std::string_view text, const std::string& path) {
  RecordedExchanges out;
  if (const size_t torn = torn_bytes(text); torn > 0) {
    out.notes.push_back(torn_note(path, torn));
    text.remove_suffix(torn);
  }
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    auto exchange = parse_line(text.substr(0, end));
    if (!exchange) {
      exchange.error().span = Span{path, line, 0, 0};
      return kw::fail(std::move(exchange.error()));
    }
    out.exchanges.push_back(std::move(*exchange));
    text.remove_prefix(end + 1);
  }
  return out;
}

Result<RecordedExchanges> read_transcript(const std::string& path) {
  KW_TRY(const std::string text, read_file(path, kLargest));
  return parse_transcript(text, path);
}

}  // namespace kw::llm
