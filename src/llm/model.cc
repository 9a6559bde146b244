#include "llm/model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace kw::llm {
namespace {

constexpr uint64_t kTokensAround = 16;  // what a server adds around messages
constexpr double kOutputTokensPerByte = 1.0 / 3;

uint64_t output_tokens(size_t bytes) {
  return static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) * kOutputTokensPerByte));
}

// Whether the provider may have worked, and billed, for nothing.
bool may_have_cost(FailureKind kind) {
  switch (kind) {
    case FailureKind::kRefused:
    case FailureKind::kTimedOut:
    case FailureKind::kCutStream:
    case FailureKind::kMalformedAnswer:
    case FailureKind::kCancelled: return true;
    case FailureKind::kWrongKey:
    case FailureKind::kNoCredit:
    case FailureKind::kUnknownModel:
    case FailureKind::kRateLimited:
    case FailureKind::kOverloaded:
    case FailureKind::kUnreachable:
    case FailureKind::kContextTooLong:
    case FailureKind::kBudgetSpent:
    case FailureKind::kMisconfigured:
    case FailureKind::kReplayDiffers: return false;
  }
  return true;
}

size_t reply_bytes(const Reply& reply) {
  size_t bytes = reply.text.size();
  for (const ToolCall& call : reply.tool_calls) bytes += call.name.size() + call.arguments.size();
  return bytes;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b || std::filesystem::equivalent(a, b, ignored);
}

}  // namespace

Answer<std::unique_ptr<Model>> Model::open(const std::string& spec, const ModelOptions& options) {
  if (options.budget && options.budget->terms().money && !options.prices) {
    return fail(FailureKind::kMisconfigured, "a budget of money needs prices, and none are given",
                "give the prices per million input and output tokens, as your provider states them");
  }
  const auto sound = [](double price) { return std::isfinite(price) && price >= 0; };
  if (options.prices && !(sound(options.prices->input) && sound(options.prices->output))) {
    return fail(FailureKind::kMisconfigured, "a price is no number from 0 up",
                "give prices per million tokens");
  }
  auto opened = open_provider(spec, options.limits);
  if (!opened) return fail(std::move(opened.error()));
  std::unique_ptr<Model> model(new Model(spec, options, std::move(*opened)));
  if (options.transcript.empty()) return model;
  if (!model->opened_.replayed.empty() && same_file(model->opened_.replayed, options.transcript)) {
    return fail(FailureKind::kMisconfigured,
                "the transcript that is replayed cannot be written at the same time",
                "name another file for the new one");
  }
  auto transcript = Transcript::open(options.transcript);
  if (!transcript) return misconfigured(std::move(transcript.error()));
  for (const std::string& note : transcript->notes()) model->opened_.notes.push_back(note);
  model->transcript_.emplace(std::move(*transcript));
  return model;
}

uint64_t Model::input_tokens(size_t bytes) const {
  return kTokensAround +
         static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) * tokens_per_byte_.load()));
}

void Model::learn(size_t bytes, const Usage& usage) {
  if (usage.estimated || usage.input_tokens <= kTokensAround || bytes == 0) return;
  const double seen =
      std::min(1.0, static_cast<double>(usage.input_tokens - kTokensAround) / static_cast<double>(bytes));
  double known = tokens_per_byte_.load();
  while (seen > known && !tokens_per_byte_.compare_exchange_weak(known, seen)) {
  }
}

Answer<Reply> Model::attempt_once(const Request& request, size_t bytes, const Listener& listener,
                                  unsigned& asked) {
  std::optional<Budget::Reservation> reserved;
  Call call;
  call.patience.cancel = listener.cancel;
  if (options_.budget) {
    auto reservation = options_.budget->reserve({input_tokens(bytes), request.max_output_tokens, true},
                                                options_.prices, asked == 0);
    if (!reservation) return fail(std::move(reservation.error()));
    reserved = *reservation;
    call.patience.deadline = options_.budget->deadline();
  }
  size_t streamed = 0;
  call.on_text = [&](std::string_view text) {
    streamed += text.size();
    if (listener.on_text) listener.on_text(text);
  };
  ++asked;
  auto reply = opened_.provider->ask(request, call);
  Usage used;
  if (reply) {
    identify_calls(*reply, request);
    if (reply->usage.estimated)
      reply->usage = {input_tokens(bytes), output_tokens(reply_bytes(*reply)), true};
    learn(bytes, reply->usage);
    used = reply->usage;
  } else if (streamed > 0 || may_have_cost(reply.error().kind)) {
    used = {input_tokens(bytes), output_tokens(streamed), true};
  }
  if (reserved) options_.budget->settle(*reserved, used, options_.prices);
  if (!reply && reply.error().kind == FailureKind::kTimedOut && Clock::now() >= call.patience.deadline) {
    return fail(FailureKind::kBudgetSpent,
                "the wall time of the budget ended within the answer: " + reply.error().message,
                "allow more wall time");
  }
  return reply;
}

Answer<Reply> Model::attempts(const Request& request, const Json& json, const Listener& listener,
                              unsigned& asked) {
  const size_t bytes = json_text(json).size();
  const uint64_t exchange = exchanges_.fetch_add(1);
  Patience patience{options_.budget ? options_.budget->deadline() : Clock::time_point::max(),
                    listener.cancel};
  std::string before;  // why it is asked again
  while (true) {
    if (patience.cancelled()) return fail(FailureKind::kCancelled, "cancelled before the model was asked");
    auto reply = attempt_once(request, bytes, listener, asked);
    if (reply) return reply;
    Failure& failure = reply.error();
    const auto asked_note = [&] { return fmt::format("asked {} time{}", asked, asked == 1 ? "" : "s"); };
    const std::optional<double> wait = wait_before_again(options_.retry, failure, asked, exchange);
    if (!wait) {
      if (failure.retriable && failure.retry_after_seconds > options_.retry.longest_asked_seconds) {
        failure.notes.push_back(fmt::format("the server asks to wait {:.0f} s", failure.retry_after_seconds));
      }
      if (failure.kind == FailureKind::kBudgetSpent && !before.empty())
        failure.notes.push_back("before that: " + before);
      if (asked > 1) failure.notes.push_back(asked_note());
      return reply;
    }
    if (patience.deadline != Clock::time_point::max() && *wait >= patience.seconds_left()) {
      failure.notes.push_back(fmt::format(
          "{}; the budget's wall time does not allow waiting another {:.1f} s", asked_note(), *wait));
      return reply;
    }
    if (listener.on_again) listener.on_again(failure);
    before = failure.message;
    if (!wait_for(*wait, patience)) {
      return fail(FailureKind::kCancelled, "cancelled while waiting to ask again: " + before);
    }
  }
}

namespace {

// Text as it comes, but for the key: as much is kept back as may be the beginning of one.
class Unkeyed {
 public:
  Unkeyed(const Key& key, const Listener& to) : key_(key), to_(to) {}
  Listener listener() {
    Listener out = to_;
    if (!to_.on_text) return out;
    out.on_text = [this](std::string_view text) {
      kept_ = key_.redacted(kept_ + std::string(text));
      const size_t back = key_.longest() == 0 ? 0 : key_.longest() - 1;
      if (kept_.size() <= back) return;
      to_.on_text(std::string_view(kept_).substr(0, kept_.size() - back));
      kept_.erase(0, kept_.size() - back);
    };
    out.on_again = [this](const Failure& failure) {
      kept_.clear();
      if (to_.on_again) to_.on_again(failure);
    };
    return out;
  }
  void end() {
    if (to_.on_text && !kept_.empty()) to_.on_text(kept_);
  }

 private:
  const Key& key_;
  const Listener& to_;
  std::string kept_;
};

}  // namespace

Answer<Reply> Model::ask(const Request& request, const Listener& listener) {
  if (Status sound = check(request); !sound) return misconfigured(std::move(sound.error()));
  const Clock::time_point start = Clock::now();
  Exchange exchange{to_json(request), Reply{}, spec_, 0, 0};
  Unkeyed unkeyed(opened_.key, listener);
  auto reply = attempts(request, exchange.request, unkeyed.listener(), exchange.attempts);
  unkeyed.end();
  if (reply) {
    // Whoever answers may know the key, and what it says is printed and kept.
    reply->text = opened_.key.redacted(reply->text);
    reply->model = opened_.key.redacted(reply->model);
    for (ToolCall& call : reply->tool_calls) call.arguments = opened_.key.redacted(call.arguments);
  }
  // What never reached the provider is no exchange: a replay does not meet it again.
  const bool reached = exchange.attempts > 0 && (reply || reply.error().kind != FailureKind::kReplayDiffers);
  if (!transcript_ || !reached) return reply;
  if (reply) {
    exchange.outcome = *reply;
  } else {
    exchange.outcome = reply.error();
  }
  exchange.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (Status written = transcript_->append(exchange, opened_.key); !written)
    return misconfigured(std::move(written.error()));
  return reply;
}

}  // namespace kw::llm
