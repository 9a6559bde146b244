// The smallest shape that still fails: what a person debugs is easier to see at M=1, N=33 than at M=7, N=129.
//
// Greedy: axis by axis, the largest first, each is set to its least value and, where that passes, halved toward the least
// that fails; again, until no axis gives way. Before that, every changed input is put back to what the problem says.
// A trial never costs more than what is known to fail, none is run twice, and there is a budget of runs and seconds.
// The order of trials follows from the workload alone. Not a proof: a smaller one may fail on another path.
#pragma once

#include <functional>
#include <optional>

#include "judge/rungs.h"

namespace kw::judge {

struct TrialBudget {
  int runs = 32;
  double seconds = 10;
};

// How a workload is wrong; none: it is right, or fails in another way.
using Trial = std::function<std::optional<Wrong>(const problem::Workload& workload)>;

// `failing` was seen to fail as `seen` says. The result is that one itself when nothing smaller fails.
Minimal smallest_failing(const problem::Problem& problem, const problem::Workload& failing, const Wrong& seen, const TrialBudget& budget,
                         const Trial& trial);

// Adds to the verdict of a rung what is wrong on the smallest failing shape; each trial is recorded and run anew.
void minimise(const Climb& climb, Rung rung, RungResult& result);

}  // namespace kw::judge
