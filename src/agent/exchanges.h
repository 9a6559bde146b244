// Asking a model within a run: each exchange is in the store before its reply is used, and is not made again. A question is known by its text: asked again,
// in a later life of the run too, it has the reply that it had. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "agent/kernel_space.h"
#include "llm/failure.h"
#include "llm/message.h"

namespace kw::agent {

using Ask = std::function<llm::Answer<llm::Reply>(const llm::Request&)>;

// What a run has spent on its model.
struct Spent {
  uint64_t exchanges = 0, input_tokens = 0, output_tokens = 0;
  double money = 0;
};

class Exchanges {
 public:
  // `rows`: those of the run that are there. `price`: US dollars for so many tokens; empty: unknown.
  Exchanges(SharedStore& store, int64_t run, std::string provider, Ask ask, const std::vector<store::ExchangeRow>& rows,
            std::function<double(const llm::Usage&)> price = {});

  // Failures: the model's; the store's (kMisconfigured).
  llm::Answer<llm::Reply> ask(const llm::Request& request);

  // Of the last ask() without a reply. A run ends as one that was stopped where the budget is spent, or somebody cancelled.
  std::optional<llm::Failure> failed() const;

 private:
  Result<std::optional<llm::Reply>> known(const std::string& prompt);
  Status keep(const std::string& prompt, const llm::Reply& reply, double seconds);

  SharedStore& store_;
  const int64_t run_;
  const std::string provider_;
  const Ask ask_;
  const std::function<double(const llm::Usage&)> price_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> replies_;   // objects, by the prompt's
  int64_t next_ = 0;
  std::optional<llm::Failure> failed_;
};

Spent spent_of(const std::vector<store::ExchangeRow>& rows);

}  // namespace kw::agent
