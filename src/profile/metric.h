// A metric: one fact in a number, with where it comes from and how far it can be trusted. Values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kw::profile {

enum class Grade : uint8_t {
  kExact,      // counted or read off: the compiler's report, the emulator's counters, the problem's graph
  kMeasured,   // read from a device, and differs from run to run
  kEstimated,  // follows from others by a model
};
std::string_view name_of(Grade grade);

struct Metric {
  std::string name;      // "sectors per load request"
  double value = 0;
  std::string unit;      // "B", "s", "" for a plain number
  std::string source;    // "ptxas", "SASS", "emulator", "plan", "problem", "specification", "calibration", "ncu", "estimate", a device
  Grade grade = Grade::kEstimated;
  std::string kernel;    // empty: of the whole candidate
};

}  // namespace kw::profile
