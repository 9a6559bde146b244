// The one interface behind which every language model stands: a request in, a reply or a failure out, once.
// Retries, budgets and the transcript are model.h's, for all providers alike. ask() may be called from
// several threads.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string_view>

#include "llm/failure.h"
#include "llm/message.h"

namespace kw::llm {

using Clock = std::chrono::steady_clock;

// When to give up waiting.
struct Patience {
  Clock::time_point deadline = Clock::time_point::max();
  const std::atomic<bool>* cancel = nullptr;  // set by another thread: end within a fraction of a second

  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
  double seconds_left() const { return std::chrono::duration<double>(deadline - Clock::now()).count(); }
  // The same, but no longer than `seconds` from now.
  Patience within(double seconds) const;
  bool over() const { return cancelled() || Clock::now() >= deadline; }
};

// `seconds` after `start`; as good as never when that is more than three years.
Clock::time_point after(Clock::time_point start, double seconds);

// Waits `seconds`, or until patience is over; true when the time passed in full.
bool wait_for(double seconds, const Patience& patience);

// What a provider waits and reads at the most. 0 of a time: what the kind of provider takes
// (docs/formats/llm.md).
struct Limits {
  double total_seconds = 0;  // for one attempt
  double idle_seconds = 0;   // without a single byte from the server
  double connect_seconds = 20;
  uint64_t reply_bytes = 64u << 20;  // as they come from the server, a few hundred per token of a stream
  uint64_t line_bytes = 4u << 20;    // of a stream
};

struct Call {
  std::function<void(std::string_view)> on_text;  // text as it comes; may be empty
  Patience patience;
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual Answer<Reply> ask(const Request& request, const Call& call) = 0;
};

}  // namespace kw::llm
