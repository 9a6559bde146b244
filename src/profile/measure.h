// The profiled workload's time on a GPU, for comparison with the estimate. Nothing is judged here: `kw judge --time` is the one
// that says how fast a right candidate is.
// Errors: inputs that cannot be made, a plan that the device cannot run or that faults there. Thread-safe: callers wait for each other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "problem/problem.h"
#include "profile/timeline.h"

namespace kw::profile {

struct Measured {
  double seconds = 0, low = 0, high = 0;   // cold calls, buffers elsewhere each time: the median, and the quartiles
  double launch_seconds = 0;               // what the clock shows around an empty kernel; contained in `seconds`
  int calls = 0;
  // One more call from cold, with the kernel activity trace on; of several the one of median length.
  std::optional<Timeline> timeline;
  std::string untraced;                    // why there is none
};

// The plan on a device, with the inputs of this seed.
Result<std::unique_ptr<device::LoadedPlan>> load_with_inputs(device::Device& device, const problem::Problem& problem, const problem::Workload& workload,
                                                             const plan::Plan& plan, uint64_t seed);

Result<Measured> measure(device::Device& gpu, const problem::Problem& problem, const problem::Workload& workload, const plan::Plan& plan, uint64_t seed);

// Spearman's rank correlation, equal values at the mean of their ranks; 0 for fewer than two pairs, or where one side does not vary.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace kw::profile
