// A kernel for a matrix times a vector with what is computed of the result: one warp or several take a row, or several rows at once.
// Tunables: warps a row, rows at once, groups of warps a block, elements an access, accesses under way. fp32 sums. Pure; thread-safe.
#pragma once

#include <string>

#include "base/result.h"
#include "problem/problem.h"

namespace kw::agent {

// kUnsupported: why the problem is none of these. One product of a matrix, or several behind each other, whose rows lie in memory as they are
// multiplied, and one vector (a @ x, x @ transpose(a)); behind it anything element by element (template_elements.h).
Result<std::string> gemv_kernel(const problem::Problem& problem);

// Whether the product has a vector among its operands.
bool multiplies_vector(const problem::Problem& problem, problem::NodeId product);

}  // namespace kw::agent
