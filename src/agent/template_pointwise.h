// A kernel for problems whose outputs are functions of the inputs element by element: written from the graph, as one writes it
// first, with what a search may change marked as tunables (tunables.h): threads a block, elements an access, accesses a thread.
// Arithmetic is in fp32, with the accurate functions. Pure; thread-safe.
#pragma once

#include <string>

#include "base/result.h"
#include "problem/problem.h"

namespace kw::agent {

// The source of a candidate. kUnsupported: why the problem is none of these. Outputs have one shape; an input has that shape, or its
// last axes, or its first ones with sizes of 1 after them, or one element. Dtypes: f32, f16, bf16.
Result<std::string> pointwise_kernel(const problem::Problem& problem);

}  // namespace kw::agent
