// The profiler: what a candidate does at a workload, what bounds it, and what to change. No GPU is needed: without one
// every time is an estimate and says so. Never judges: whether the candidate is right is the judge's affair.
// Errors: as collect(). Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "profile/advice.h"
#include "profile/collect.h"
#include "profile/metric.h"
#include "profile/roofline.h"

namespace kw::profile {

struct Profile {
  Subject subject;
  Roofline roofline;
  std::vector<Advice> advice;     // the best gain first
  std::vector<std::string> conflicts;   // of the GPU's counters with what was foretold (conflicts.h)
  std::vector<Metric> metrics;    // of the candidate, then kernel by kernel
};

Result<Profile> profile(const problem::Problem& problem, const std::string& candidate, const Options& options);

std::vector<Metric> metrics_of(const Subject& subject, const Roofline& roofline);

// For people; and the schema "kernelwright/profile/1" (docs/formats/profile.md).
std::string page(const Profile& profile);
std::string to_json(const Profile& profile);

}  // namespace kw::profile
