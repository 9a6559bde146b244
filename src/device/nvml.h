// NVIDIA's management library (libnvidia-ml), loaded when it is first asked for: clocks, power, who else is there.
// Declares what is used of it, with constants' values as nvml.h of CUDA 12 and 13 states them (https://docs.nvidia.com/deploy/nvml-api).
// Internal to device. Thread-safe.
#pragma once

#include <string>

#include "device/device.h"

namespace kw::device {

// Of the GPU at this place on the bus ("0000:1b:00.0"). Nothing is known where the library is missing or refuses.
Conditions nvml_conditions(const std::string& bus_place);

}  // namespace kw::device
