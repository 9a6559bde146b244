// Where the GPU's own counters contradict what was foretold without it. What is measured is believed: tools that have both use it. A
// contradiction is said all the same, for it is the estimate's fault, or the sign of something neither looked at. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "profile/subject.h"

namespace kw::profile {

// A sentence each, of kernels that take part in the time. Empty where no counters were read.
std::vector<std::string> conflicts(const Subject& subject);

}  // namespace kw::profile
