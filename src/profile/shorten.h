// The profiled workload, made small enough for an emulator without changing what a block does: axes are shortened as long
// as the candidate launches the same kernels with blocks of the same shape and fewer of them in the same proportion in
// which the work shrinks. What is counted then differs from the profiled workload in the number of blocks only.
#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "plan/plan.h"
#include "problem/problem.h"

namespace kw::profile {

struct Shortened {
  problem::Workload workload;
  plan::Plan plan;
};
using Record = std::function<Result<plan::Plan>(const problem::Workload&)>;

// None: no axis can be shortened that far (a grid that does not follow the work, one huge block).
// `plan` is that of `workload`. Workloads that cannot be recorded are not considered.
std::optional<Shortened> shorten(const problem::Problem& problem, const problem::Workload& workload, const plan::Plan& plan, const Record& record);

}  // namespace kw::profile
