#include "llm/replay.h"

#include <algorithm>
#include <mutex>

#include "llm/transcript.h"

namespace kw::llm {
namespace {

class Replay : public Provider {
 public:
  Replay(std::string path, std::vector<Exchange> exchanges)
      : path_(std::move(path)), exchanges_(std::move(exchanges)), used_(exchanges_.size(), false) {}

  Answer<Reply> ask(const Request& request, const Call& call) override {
    if (call.patience.cancelled())
      return fail(FailureKind::kCancelled, "cancelled before the exchange was replayed");
    const std::lock_guard lock(mutex_);
    // By way of text, as the recorded one: bytes that are not UTF-8 are replaced alike.
    const Json asked = parse_json(json_text(to_json(request)));
    const size_t at = find(asked);
    if (at == exchanges_.size()) return differs(asked);
    used_[at] = true;
    const Exchange& recorded = exchanges_[at];
    if (const Failure* failure = std::get_if<Failure>(&recorded.outcome)) {
      Failure again = *failure;
      again.retriable = false;  // the recorded one is what was left after all attempts
      return fail(std::move(again));
    }
    const Reply& reply = std::get<Reply>(recorded.outcome);
    if (call.on_text && !reply.text.empty()) call.on_text(reply.text);
    return reply;
  }

 private:
  size_t first_unused() const { return static_cast<size_t>(std::find(used_.begin(), used_.end(), false) - used_.begin()); }

  // The first that was asked so and has not been given: what several threads asked at once has no order.
  size_t find(const Json& asked) const {
    size_t at = first_unused();
    while (at < exchanges_.size() && (used_[at] || exchanges_[at].request != asked)) ++at;
    return at;
  }

  Answer<Reply> differs(const Json& asked) const {
    const size_t at = first_unused(), number = at + 1;
    if (at == exchanges_.size()) {
      return fail(FailureKind::kReplayDiffers,
                  fmt::format("exchange {} is not in {}, which has {}", number, path_, exchanges_.size()),
                  "record again with the provider itself, or ask no more than was asked");
    }
    return fail(FailureKind::kReplayDiffers,
                fmt::format("exchange {} of {} was asked otherwise: {} (recorded, asked)", number, path_,
                            difference(exchanges_[at].request, asked)),
                "record again with the provider itself");
  }

  std::string path_;
  std::vector<Exchange> exchanges_;
  std::vector<bool> used_;
  std::mutex mutex_;
};

class None : public Provider {
 public:
  Answer<Reply> ask(const Request&, const Call&) override {
    return fail(
        FailureKind::kMisconfigured, "a language model is asked, and none is configured",
        "--llm names one: openai:MODEL, anthropic:MODEL, command:WORDS, mailbox:FOLDER or replay:FILE");
  }
};

}  // namespace

Answer<std::unique_ptr<Provider>> open_replay(const std::string& path, std::vector<std::string>& notes) {
  auto recorded = read_transcript(path);
  if (!recorded) return misconfigured(std::move(recorded.error()));
  notes.insert(notes.end(), recorded->notes.begin(), recorded->notes.end());
  // An exchange that was given up has no outcome that could be had again.
  std::erase_if(recorded->exchanges, [](const Exchange& each) {
    const Failure* failure = std::get_if<Failure>(&each.outcome);
    return failure != nullptr &&
           (failure->kind == FailureKind::kCancelled || failure->kind == FailureKind::kBudgetSpent);
  });
  return std::make_unique<Replay>(path, std::move(recorded->exchanges));
}

std::unique_ptr<Provider> open_none() { return std::make_unique<None>(); }

}  // namespace kw::llm
