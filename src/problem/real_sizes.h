// Do outputs still vary at the sizes at which people run the problem? A mean over a billion random numbers is known
// before it is computed: its spread shrinks with the square root of the number, its budget grows. Part of admit(). Thread-safe.
#pragma once

#include "base/result.h"
#include "problem/needed_work.h"

namespace kw::problem {

// One case, "varies at real sizes", about the dearest `real` workload, which is never evaluated: with its distributions, at the
// axes of the small workloads, other seeds give other outputs; where they differ most, they do by r budgets (rms over
// pairs of seeds). How r falls with the operations per output element is fitted (log r against log, least squares, a slope
// from -1 to 0) and extended to the real size. A constant, the best guess without reading inputs, passes an element
// with probability 1.13 / r and an output of n elements with that to the power min(n, 64): more than once in 15 is refused.
Result<AdmissionCase> varies_at_real_sizes(const Admitting& admitting);

}  // namespace kw::problem
