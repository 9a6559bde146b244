// Speed, then energy. Pure functions.
#pragma once

#include "search/environment.h"

namespace kw::search {

// Whether it works and has a time: finite and above zero.
bool usable(const Outcome& outcome);

// Whether two usable outcomes cannot be told apart by their times: ln of the ratio within two standard errors
// of it.
bool equally_fast(const Outcome& a, const Outcome& b);

// -ln(seconds), higher is better, for a usable outcome; differences are log-speedups. Where both have an
// energy, up to half a standard error is added or taken away for less or more of it than the reference's:
// never enough to outweigh a speed that differs.
double reward(const Outcome& outcome, const Outcome& reference);

// The best of those usable, by index: the least energy among those as fast as the fastest (which is the
// pivot, since "as fast as" is not transitive), the shorter time, the first. What has no energy comes after
// what has. `none` when none is usable.
size_t best_of(const std::vector<const Outcome*>& outcomes, size_t none);

}  // namespace kw::search
