// When the steps of one call ran, by the GPU's kernel activity trace: gaps between them and what ran side by side. The call is one CUDA
// graph of the plan: no host code lies between its steps, so a gap is what the GPU itself needs from one step to what follows it.
// Pure; thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/device.h"

namespace kw::profile {

struct Timeline {
  std::vector<device::TracedStep> steps;   // by start
  double seconds = 0;    // from the first start to the last end
  double busy = 0;       // of that, with a step running
  double overlapped = 0; // of that, with two or more
  double gaps() const { return seconds - busy; }
};
Timeline timeline_of(std::vector<device::TracedStep> steps);

// A line for each step, the middle left out where there are many: "   12.3 µs  + 4.5 µs  (1.0 µs after)  scale".
std::vector<std::string> lines_of(const Timeline& timeline);

}  // namespace kw::profile
