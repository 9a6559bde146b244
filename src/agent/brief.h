// What a model is told of a task, in words: the entry that a candidate has, and the machine that it is for. Pure; thread-safe.
#pragma once

#include <string>

#include "arch/target.h"
#include "problem/problem.h"

namespace kw::agent {

// "KW_ENTRY(kw::In x, kw::Out y, int64_t N, float eps, cudaStream_t stream)", and of each tensor its name, type and shape.
std::string entry_text(const problem::Problem& problem);

// "H100 SXM5 80 GB, 132 SMs, …", in one sentence, and what the judge's emulator does not run.
std::string machine_text(const arch::Target& target);

}  // namespace kw::agent
