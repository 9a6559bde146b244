// NVIDIA's management library (libnvidia-ml), loaded when it is first asked for: clocks, power, who else is there.
// Declares what is used of it, with constants' values as nvml.h of CUDA 12 and 13 states them (https://docs.nvidia.com/deploy/nvml-api).
// Internal to device. Thread-safe.
#pragma once

#include <chrono>
#include <string>

#include "device/device.h"

namespace kw::device {

// Of the GPU at this place on the bus ("0000:1b:00.0"). Nothing is known where the library is missing or refuses.
Conditions nvml_conditions(const std::string& bus_place);

// The energy counter of that GPU, looked at now and then. It is updated in steps, every 20 to 100 ms: power is what it went up by
// between two updates that were seen, over the time between them. One thread.
class EnergyMeter {
 public:
  explicit EnergyMeter(const std::string& bus_place) : place_(bus_place) {}
  // Reads the counter, but no more often than that reading it takes a fifth of the time.
  void look();
  Power power() const { return power_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::string place_;
  Clock::time_point next_, first_;   // first_: of the first update
  double first_j_ = 0, last_j_ = 0;
  int seen_ = 0;                     // updates
  Power power_;
};

}  // namespace kw::device
