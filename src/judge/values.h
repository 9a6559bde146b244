// Values that the author of a candidate did not choose: a workload's inputs drawn from other distributions than the
// problem's own. Only inputs that are free to change do: real ones, normal or uniform, and a uniform one stays within its
// bounds, since a variance or a probability has a domain. The same seed gives the same choice. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "problem/problem.h"

namespace kw::judge {

// At most `count` copies of `base` with changed distributions, no two the same; fewer where a problem leaves less to
// change. Their names say what changed: "tail with x ~ constant(0)".
std::vector<problem::Workload> choose_values(const problem::Problem& problem, const problem::Workload& base, uint64_t seed,
                                             int count);

}  // namespace kw::judge
