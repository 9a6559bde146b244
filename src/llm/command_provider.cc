#include "llm/command_provider.h"

#include <algorithm>

#include "base/source_text.h"
#include "base/subprocess.h"
#include "llm/text_form.h"

namespace kw::llm {
namespace {

constexpr double kTotalSeconds = 1800;

class CommandProvider : public Provider {
 public:
  CommandProvider(std::string words, Key key, const Limits& limits)
      : words_(std::move(words)), key_(std::move(key)), limits_(limits) {
    if (limits_.total_seconds <= 0) limits_.total_seconds = kTotalSeconds;
  }

  Answer<Reply> ask(const Request& request, const Call& call) override {
    Command command{.argv = {"/bin/sh", "-c", words_},
                    .stdin_text = prompt_text(request),
                    .stdout_limit_bytes = limits_.reply_bytes};
    command.wall_seconds = std::max(std::min(limits_.total_seconds, call.patience.seconds_left()), 1e-3);
    command.cancel = call.patience.cancel;
    const auto outcome = run_process(command);
    if (!outcome) return misconfigured(outcome.error());
    if (!outcome->succeeded()) return fail(failure(*outcome));
    if (outcome->out.find_first_not_of(" \t\r\n") == std::string::npos) {
      return fail(FailureKind::kMalformedAnswer, "the command answered nothing" + tail(outcome->err),
                  "it must print its answer to standard output");
    }
    auto reply = read_reply_text(outcome->out, request);
    if (reply && call.on_text && !reply->text.empty()) call.on_text(reply->text);
    return reply;
  }

 private:
  // The end of what it said on standard error, for a message.
  std::string tail(const std::string& err) const {
    std::string text = printable_text(key_.redacted(err));
    const size_t last = text.find_last_not_of(" \t\n");
    if (last == std::string::npos) return "";
    text.resize(last + 1);
    constexpr size_t kMost = 400;
    if (text.size() > kMost) text = "…" + printable_text(text.substr(text.size() - kMost));
    return ": " + text;
  }

  Failure failure(const ProcessOutcome& outcome) const {
    switch (outcome.reason) {
      case StopReason::kCancelled:
        return make_failure(FailureKind::kCancelled, "cancelled while the command was answering");
      case StopReason::kDeadline: {
        Failure late = make_failure(FailureKind::kTimedOut,
                                    fmt::format("the command did not answer within {:.1f} s{}",
                                                outcome.wall_seconds, tail(outcome.err)),
                                    "allow more time");
        late.retriable = false;  // it worked all that time, and would again
        return late;
      }
      case StopReason::kOutputLimit:
        return make_failure(FailureKind::kMalformedAnswer,
                            fmt::format("the command printed more than {} bytes", limits_.reply_bytes),
                            "it must print its answer alone");
      case StopReason::kExited:
      case StopReason::kSignalled:
      case StopReason::kCpuLimit:
      case StopReason::kFileLimit:
      case StopReason::kMemoryLimit:
      case StopReason::kProcessLimit:
      case StopReason::kDiskLimit: break;
    }
    const bool absent =
        outcome.reason == StopReason::kExited && (outcome.exit_code == 126 || outcome.exit_code == 127);
    Failure failed =
        make_failure(absent ? FailureKind::kMisconfigured : FailureKind::kOverloaded,
                     fmt::format("the command failed, {}{}", describe(outcome), tail(outcome.err)),
                     "try the same command in a shell, with a prompt on its standard input");
    failed.retriable = false;
    return failed;
  }

  std::string words_;
  Key key_;
  Limits limits_;
};

}  // namespace

std::unique_ptr<Provider> command_provider(std::string words, const Key& key, const Limits& limits) {
  return std::make_unique<CommandProvider>(std::move(words), key, limits);
}

}  // namespace kw::llm
