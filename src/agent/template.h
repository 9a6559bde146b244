// A kernel to start from where none is given: what the templates (template_*.h) can write of a problem.
#pragma once

#include <string>

#include "base/result.h"
#include "problem/problem.h"

namespace kw::agent {

// The source of a candidate with tunables. kUnsupported: no template fits, and why.
Result<std::string> template_kernel(const problem::Problem& problem);

}  // namespace kw::agent
