// A kernel for problems that reduce rows: softmax, norms and their kin. A block takes a row; it walks over it once for the
// reductions that need nothing but the inputs, once more for those that need these, and at last for the outputs, and computes anew
// in each walk what it needs. Threads a block and elements an access are tunables (tunables.h). fp32, as template_pointwise.h. Pure;
// thread-safe.
#pragma once

#include <string>

#include "base/result.h"
#include "problem/problem.h"

namespace kw::agent {

// kUnsupported: why the problem is none of these. Reductions are sum, mean, max and min over the last axis. Inputs and outputs are of the
// rows' shape, of their number (one element a row), inputs also of the last axis alone, or one element.
Result<std::string> rows_kernel(const problem::Problem& problem);

}  // namespace kw::agent
