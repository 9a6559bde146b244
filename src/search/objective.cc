#include "search/objective.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace kw::search {
namespace {

double spread_of(const Outcome& outcome) {
  return std::isfinite(outcome.spread) && outcome.spread > 0 ? std::min(outcome.spread, 1.0) : 0;
}

bool has_energy(const Outcome& outcome) { return std::isfinite(outcome.joules) && outcome.joules > 0; }

}  // namespace

bool usable(const Outcome& outcome) {
  return outcome.works && std::isfinite(outcome.seconds) && outcome.seconds > 0;
}

bool equally_fast(const Outcome& a, const Outcome& b) {
  return std::abs(std::log(a.seconds) - std::log(b.seconds)) <= 2 * std::hypot(spread_of(a), spread_of(b));
}

double reward(const Outcome& outcome, const Outcome& reference) {
  const double speed = -std::log(outcome.seconds);
  if (!has_energy(outcome) || !has_energy(reference)) return speed;
  const double saved = std::log(reference.joules) - std::log(outcome.joules);
  return speed + spread_of(outcome) * std::clamp(saved, -1.0, 1.0) / 2;
}

size_t best_of(const std::vector<const Outcome*>& outcomes, size_t none) {
  const Outcome* fastest = nullptr;
  for (const Outcome* o : outcomes)
    if (usable(*o) && (fastest == nullptr || o->seconds < fastest->seconds)) fastest = o;
  const auto rank = [](const Outcome& o) {
    return std::tuple(has_energy(o) ? o.joules : INFINITY, o.seconds);
  };
  size_t best = none;
  for (size_t i = 0; i < outcomes.size(); ++i)
    if (usable(*outcomes[i]) && equally_fast(*outcomes[i], *fastest) &&
        (best == none || rank(*outcomes[i]) < rank(*outcomes[best])))
      best = i;
  return best;
}

}  // namespace kw::search
