// A search: choose a step, ask or evaluate, settle the result, again, until the budget is used up.
//
// Deterministic though parallel: results are settled in the order in which their steps were issued, and step
// n is chosen when just the steps up to n - in_flight are settled, however many others have ended. (A step is
// settled earlier only when nothing can be chosen without its result.) So what is chosen depends on seed,
// settings, memory and results, not on which comes first.
//
// Resumable: each event is recorded the moment that it is known, in any order. Given all of them again, run()
// rebuilds the search and goes on as if it had never stopped. The steps before the first that has no event
// are taken as recorded, also when settings have changed since; events after it answer without being
// evaluated again when the same is chosen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "search/environment.h"
#include "search/event.h"
#include "search/strategy.h"
#include "search/tree.h"

namespace kw::search {

struct Hooks {
  // Looked at before each step; true: no more are issued, and those in flight are waited for.
  std::function<bool()> stop;
  // Called from whichever thread has the event, one at a time; only with new ones. An error stops the search.
  std::function<Status(const Event&)> record;
};

enum class Ended : uint8_t { kBudget, kStopped, kExhausted };

struct Found {
  Tree tree;
  Memory memory;
  NodeId best = kRoot;  // tree.best()
  Ended ended = Ended::kBudget;
  uint64_t evaluations = 0;  // resumed ones included; at most the budget, but for events given beyond it
  uint64_t asks = 0;
};

// `memory` is that at the start, also when `before` has events: they teach the rest. Errors: the
// environment's and the recorder's, after those in flight have ended; kInvalid when `before` is no record of
// a search from this root.
Result<Found> run(Environment& environment, const Root& root, const Options& options, Memory memory = {},
                  const std::vector<Event>& before = {}, const Hooks& hooks = {});

}  // namespace kw::search
