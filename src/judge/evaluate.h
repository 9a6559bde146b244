// The judge: does this candidate compute this problem? Climbs the ladder, cheapest rung first; the first rung
// that fails decides, and nothing later runs on what an earlier rung rejected. No GPU is needed.
//
// The candidate's host code runs only in the recorder's jail; its device code only in the emulator. This
// process holds inputs, reference, seed and verdict.
// Errors: the problem or the candidate cannot be read, no compiler, no jail. Thread-safe.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "judge/verdict.h"
#include "problem/problem.h"

namespace kw::judge {

// Called when a rung starts (status kNotRun, `detail` may say what is being done) and when it has ended.
using Progress = std::function<void(const RungReport& report, bool finished)>;

Result<Verdict> evaluate(const problem::Problem& problem, const std::string& candidate_path,
                         const Options& options, const Progress& progress = {});

}  // namespace kw::judge
