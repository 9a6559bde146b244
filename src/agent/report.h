// What a run found, for people: Markdown. A function of what the store holds, so it can be had again, and of a run that goes on.
#pragma once

#include <string>

#include "agent/optimize.h"

namespace kw::agent {

struct Best {
  search::NodeId node = search::kRoot;
  std::string source;
  bool works = false;     // false: nothing that was tried is right
  double gain = 1;        // the start's time over its own; 1 where the start has none
  profile::Grade grade = profile::Grade::kEstimated;   // of that
};
Result<Best> best_of_run(SharedStore& store, int64_t run);

Result<std::string> report(SharedStore& store, int64_t run);

std::string duration_text(double seconds);   // "12.3 us"

}  // namespace kw::agent
