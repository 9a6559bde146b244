// A kernel for problems that permute the axes of one input: a tile of the two axes that are the last before and after goes through shared
// memory, so that what is read and what is written lie side by side. Tunables: the tile's side, threads a block, elements an access where
// the sizes allow, elements between the tile's rows. Pure; thread-safe.
#pragma once

#include <string>

#include "base/result.h"
#include "problem/problem.h"

namespace kw::agent {

// kUnsupported: why the problem is none of these. One transposition whose last axis is not the input's last; before and after it anything that
// is done element by element, before it with constants, sizes and inputs of one element only. Outputs have the permuted shape.
Result<std::string> transpose_kernel(const problem::Problem& problem);

}  // namespace kw::agent
