// Values that the author of a candidate did not choose: a workload's inputs drawn from other distributions than the
// problem's own. Only inputs that are free to change do: real ones, normal or uniform, and a uniform one stays within its
// bounds, since a variance or a probability has a domain. The same seed gives the same choice. Thread-safe.
//
// NaN and infinities are chosen only where a workload of the problem fills the same input with them, and so says that what
// becomes of them is part of the problem: honest kernels differ there (fmaxf drops a NaN, a maximum in PyTorch keeps it).
#pragma once

#include <cstdint>
#include <vector>

#include "problem/problem.h"

namespace kw::judge {

// Whether an input holds NaN or infinities, as in x ~ spikes(1, nan).
bool has_specials(const problem::Workload& workload);

// At most `count` copies of `base` with changed distributions, no two the same; fewer where a problem leaves less to
// change; and, whatever `count`, one for each special value of an input in the problem's workloads. Their names say what changed: "tail with x ~ constant(0)".
std::vector<problem::Workload> choose_values(const problem::Problem& problem, const problem::Workload& base, uint64_t seed,
                                             int count);

}  // namespace kw::judge
