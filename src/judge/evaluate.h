// The judge: does this candidate compute this problem? Climbs the ladder, cheapest rung first; the first rung
// that fails decides, and nothing later runs on what an earlier rung rejected. No GPU is needed.
//
// The candidate's host code runs only in the recorder's jail; its device code only in the emulator. This
// process holds inputs, reference, seed and verdict.
// Errors: the problem or the candidate cannot be read, no compiler, no jail. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "judge/verdict.h"
#include "problem/problem.h"

namespace kw::judge {

struct Options {
  std::string target = "sm_80";
  std::optional<uint64_t> seed;        // none: a fresh secret one
  int threads = 0;                     // host threads for emulation; 0: all
  double kernel_deadline_s = 60;       // wall time of one emulated plan
  double host_deadline_s = 10;         // wall time of the candidate's host code per workload
  double compile_deadline_s = 300;
  int judge_shapes = 3;                // shapes of the judge's own choosing
  int schedules = 4;                   // besides the first
  std::string cache_dir;               // empty: the default one
};

// Called when a rung starts (status kNotRun, `detail` may say what is being done) and when it has ended.
using Progress = std::function<void(const RungReport& report, bool finished)>;

Result<Verdict> evaluate(const problem::Problem& problem, const std::string& candidate_path,
                         const Options& options, const Progress& progress = {});

}  // namespace kw::judge
