// A language model to ask: a provider with retries, a budget and a transcript around it. Never another
// provider than the one that the spec names. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "llm/budget.h"
#include "llm/open_provider.h"
#include "llm/retry.h"
#include "llm/transcript.h"

namespace kw::llm {

struct ModelOptions {
  Limits limits;
  RetryPolicy retry;
  std::shared_ptr<Budget> budget;  // null: unbounded
  std::optional<Prices> prices;    // needed for a budget of money
  std::string transcript;          // file; empty: none is kept
};

struct Listener {
  // Text as it comes, from the thread that asks.
  std::function<void(std::string_view)> on_text;
  // The text so far is void: the request is sent again, because of this.
  std::function<void(const Failure&)> on_again;
  // Set by another thread: ask() returns within a fraction of a second.
  const std::atomic<bool>* cancel = nullptr;
};

class Model {
 public:
  // Asks nothing yet. Failures: kMisconfigured, kWrongKey.
  static Answer<std::unique_ptr<Model>> open(const std::string& spec, const ModelOptions& options);

  // The whole reply, or the last failure after all attempts, with how often was asked.
  Answer<Reply> ask(const Request& request, const Listener& listener = {});

  const std::vector<std::string>& notes() const { return opened_.notes; }  // of open()

 private:
  Model(std::string spec, const ModelOptions& options, OpenProvider opened)
      : spec_(std::move(spec)), options_(options), opened_(std::move(opened)) {}
  Answer<Reply> attempts(const Request& request, const Json& json, const Listener& listener, unsigned& asked);
  Answer<Reply> attempt_once(const Request& request, size_t bytes, const Listener& listener, unsigned& asked);
  uint64_t input_tokens(size_t bytes) const;
  void learn(size_t bytes, const Usage& usage);

  std::string spec_;
  ModelOptions options_;
  OpenProvider opened_;
  std::optional<Transcript> transcript_;
  std::atomic<uint64_t> exchanges_ = 0;
  std::atomic<double> tokens_per_byte_ = 1.0 / 3;  // of requests; grows with what servers count
};

}  // namespace kw::llm
