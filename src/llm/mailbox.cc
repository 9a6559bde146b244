#include "llm/mailbox.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "base/file.h"
#include "base/unique_fd.h"
#include "llm/message_json.h"
#include "llm/text_form.h"

namespace kw::llm {
namespace {

constexpr double kTotalSeconds = 86400;
constexpr double kLookSeconds = 0.1;
constexpr int kLooksUnchanged = 3;  // before a reply that may still be written is read
constexpr uint64_t kMostPromptBytes = 64u << 20;

// What tells one state of a file from another.
struct Stamp {
  off_t size = 0;
  timespec modified{};
  ino_t inode = 0;
  bool operator==(const Stamp& other) const {
    return size == other.size && inode == other.inode && modified.tv_sec == other.modified.tv_sec &&
           modified.tv_nsec == other.modified.tv_nsec;
  }
};

// Of a file that holds something.
std::optional<Stamp> stamp_of(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return std::nullopt;
  return Stamp{info.st_size, info.st_mtim, info.st_ino};
}

class Mailbox : public Provider {
 public:
  Mailbox(std::string folder, UniqueFd lock, const Limits& limits)
      : folder_(std::move(folder)), lock_(std::move(lock)), limits_(limits) {
    if (limits_.total_seconds <= 0) limits_.total_seconds = kTotalSeconds;
  }

  Answer<Reply> ask(const Request& request, const Call& call) override {
    auto number = post(request);
    if (!number) return misconfigured(std::move(number.error()));
    auto reply = await(*number, request, call.patience);
    if (!reply) release(*number);
    if (reply && call.on_text && !reply->text.empty()) call.on_text(reply->text);
    return reply;
  }

 private:
  std::string path(uint64_t number, std::string_view what) const {
    return fmt::format("{}/{:04}-{}", folder_, number, what);
  }

  void release(uint64_t number) {
    const std::lock_guard lock(mutex_);
    taken_.erase(number);
  }

  // The number under which the request stands in the folder.
  Result<uint64_t> post(const Request& request) {
    const std::lock_guard lock(mutex_);
    const Json wanted = parse_json(json_text(to_json(request)));
    uint64_t last = 0;
    KW_TRY(const std::set<uint64_t> numbers, used_numbers());
    for (const uint64_t number : numbers) {
      last = number;
      if (taken_.count(number) != 0) continue;
      const auto text = read_file(path(number, "prompt.json"), kMostPromptBytes);
      if (!text || member(parse_json(*text), "request") != wanted) continue;
      KW_TRY_VOID(write_prompt(number, request));  // a kill may have left one of the two
      taken_.insert(number);
      return number;
    }
    const uint64_t number = last + 1;
    const Json json = {{"kw_mailbox", 1},
                       {"number", number},
                       {"request", wanted},
                       {"reply", fmt::format("{:04}-reply.md", number)}};
    KW_TRY_VOID(write_file(path(number, "prompt.json"), json.dump(2) + "\n"));
    KW_TRY_VOID(write_prompt(number, request));
    taken_.insert(number);
    return number;
  }

  Status write_prompt(uint64_t number, const Request& request) const {
    const std::string at = path(number, "prompt.md");
    if (stamp_of(at)) return {};
    return write_file(at, prompt_text(request));
  }

  // Of prompts and replies: the reply of a prompt that somebody took away must not answer the next.
  Result<std::set<uint64_t>> used_numbers() const {
    std::set<uint64_t> out;
    std::error_code error;
    for (std::filesystem::directory_iterator each(folder_, error), end; !error && each != end;
         each.increment(error)) {
      const std::string name = each->path().filename().string();
      uint64_t number = 0;
      const auto [stop, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (wrong == std::errc() && number > 0 && number < 1000000000 && *stop == '-') out.insert(number);
    }
    if (error) return kw::fail(ErrorCode::kIo, "cannot list the mailbox {}: {}", folder_, error.message());
    return out;
  }

  Answer<Reply> read_reply(const std::string& from, bool json, const Request& request) const {
    const auto text = read_file(from, limits_.reply_bytes);
    if (!text) return fail(FailureKind::kMalformedAnswer, text.error().message);
    if (!json) return read_reply_text(*text, request);
    auto reply = reply_from_json(parse_json(*text));
    if (!reply)
      return fail(FailureKind::kMalformedAnswer, reply.error().message,
                  "docs/formats/llm.md says what a reply has");
    return *reply;
  }

  Answer<Reply> await(uint64_t number, const Request& request, const Patience& given) const {
    const Patience patience = given.within(limits_.total_seconds);
    const std::string problem = path(number, "problem.md");
    std::map<std::string, std::pair<Stamp, int>> seen;  // and how often so
    while (true) {
      for (const bool json : {true, false}) {
        const std::string from = path(number, json ? "reply.json" : "reply.md");
        const auto stamp = stamp_of(from);
        if (!stamp) continue;
        auto& [before, looks] = seen[from];
        looks = before == *stamp ? looks + 1 : 1;
        before = *stamp;
        if (looks != kLooksUnchanged) continue;  // too young, or read before and found wanting
        auto reply = read_reply(from, json, request);
        if (reply) {
          unlink(problem.c_str());
          return reply;
        }
        // Who answers may mend it; the run goes on.
        static_cast<void>(
            write_file(problem, fmt::format("{} cannot be used: {}\n", from, reply.error().message)));
      }
      if (wait_for(kLookSeconds, patience)) continue;
      if (patience.cancelled())
        return fail(FailureKind::kCancelled,
                    fmt::format("cancelled while {} was awaited", path(number, "reply.md")));
      Failure late = make_failure(FailureKind::kTimedOut,
                                  fmt::format("there was no reply in {} in time", path(number, "reply.md")),
                                  "answer it and ask again: what stands there is taken");
      late.retriable = false;
      return fail(std::move(late));
    }
  }

  const std::string folder_;
  const UniqueFd lock_;
  Limits limits_;
  std::mutex mutex_;
  std::set<uint64_t> taken_;  // by calls of this process
};

}  // namespace

Answer<std::unique_ptr<Provider>> open_mailbox(const std::string& folder, const Limits& limits) {
  if (Status made = make_folder(folder); !made) return misconfigured(std::move(made.error()));
  const std::string lock = folder + "/.lock";
  UniqueFd fd(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd)
    return fail(FailureKind::kMisconfigured,
                fmt::format("the mailbox {} cannot be written: {}", folder, std::strerror(errno)),
                "name a folder that can be");
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(FailureKind::kMisconfigured,
                fmt::format("another process asks through the mailbox {}", folder), "name another folder");
  }
  return std::make_unique<Mailbox>(folder, std::move(fd), limits);
}

}  // namespace kw::llm
