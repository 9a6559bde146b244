// A problem's tensors, axes and attributes as the arguments that an entry may name. Pure; thread-safe.
#pragma once

#include "problem/problem.h"
#include "toolchain/toolchain.h"

namespace kw::toolchain {

// Everything a candidate may name: inputs, outputs, pieces, axes, attributes. The workload is a checked one.
Workload arguments_of(const problem::Problem& problem, const problem::Workload& workload);

}  // namespace kw::toolchain
