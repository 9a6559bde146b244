#include "llm/retry.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace kw::llm {

std::optional<double> wait_before_again(const RetryPolicy& policy, const Failure& failure, unsigned attempt,
                                        uint64_t exchange) {
  if (!failure.retriable || attempt >= policy.attempts ||
      failure.retry_after_seconds > policy.longest_asked_seconds)
    return std::nullopt;
  const double back_off =
      std::min(policy.longest_seconds, policy.first_seconds * std::exp2(std::min(attempt - 1, 60u)));
  const double jitter = Rng::to_unit(Rng(policy.seed, exchange).at(attempt));
  // All who were sent away until the same moment must not come back at once.
  if (failure.retry_after_seconds > 0) return failure.retry_after_seconds + policy.first_seconds * jitter / 4;
  return back_off * (0.5 + 0.5 * jitter);
}

}  // namespace kw::llm
