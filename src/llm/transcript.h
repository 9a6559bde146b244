// The recorded exchanges with a model: JSON lines, one per exchange, each on disk before the next begins
// (docs/formats/llm.md). A process that is killed loses at most the line it was writing; what is left of such
// a line is dropped when the file is opened again, with a note.
#pragma once

#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "base/unique_fd.h"
#include "llm/key.h"
#include "llm/message_json.h"

namespace kw::llm {

struct Exchange {
  Json request;  // to_json(Request)
  std::variant<Reply, Failure> outcome;
  std::string provider;  // the spec
  unsigned attempts = 1;
  double seconds = 0;
};

// Appends. One process at a time; append() may be called from several threads.
class Transcript {
 public:
  // The file is created (mode 0600: prompts may be private) or continued. Errors: kInvalid (a file that is no
  // transcript), kIo, kLimit (another process is writing it).
  static Result<Transcript> open(const std::string& path);
  Transcript(Transcript&& other) noexcept;

  // `key` is redacted in all that is written.
  Status append(const Exchange& exchange, const Key& key);

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Transcript(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
  uint64_t end_ = 0;  // of the last whole line
  uint64_t lines_ = 0;
  std::vector<std::string> notes_;
  std::mutex mutex_;
};

struct RecordedExchanges {
  std::vector<Exchange> exchanges;
  std::vector<std::string> notes;
};
// Errors name the line. At most 1 GiB.
Result<RecordedExchanges> read_transcript(const std::string& path);
Result<RecordedExchanges> parse_transcript(std::string_view text, const std::string& path);

}  // namespace kw::llm
