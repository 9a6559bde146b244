// How long to wait before the same request is sent again. Pure: a function of the seed, the exchange and the
// attempt.
#pragma once

#include <cstdint>

#include "llm/failure.h"

namespace kw::llm {

struct RetryPolicy {
  unsigned attempts = 5;               // at most, the first among them
  double first_seconds = 1;            // before the second attempt; doubled for each further one
  double longest_seconds = 60;         // of our own; what the server asks for may be more …
  double longest_asked_seconds = 600;  // … up to this, beyond which its answer stands
  uint64_t seed = 0;                   // of the jitter
};

// Seconds before attempt `attempt` + 1 (attempts count from 1), between half of the back-off and all of it;
// never less than the server asked for. Absent: not again.
std::optional<double> wait_before_again(const RetryPolicy& policy, const Failure& failure, unsigned attempt,
                                        uint64_t exchange);

}  // namespace kw::llm
