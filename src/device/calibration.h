// What a device really does: rates of memory, arithmetic and launches, measured with small kernels of ours (probe.h). Kept in a
// file of the user's cache, one for each model of GPU, where the profiler finds the one for its target.
// Errors: kUnsupported for a device without a clock; those of the device; files that cannot be read or written. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "device/process_spread.h"

namespace kw::device {

struct Rate {
  std::string name, unit;          // "DRAM read", "B/s"
  std::string size;                // "2.0 GiB", "5 ms"
  double median = 0, low = 0, high = 0;   // of the calls; their quartiles
  int calls = 0;
  double specified = 0;            // what it is said to be; 0: not said
  std::string specified_by;        // "driver", or the product that stands for the target
};
struct Calibration {
  std::string device, target;      // "NVIDIA H200", "sm_90"
  std::vector<Rate> rates;         // of each quantity all its sizes
  std::optional<ProcessSpread> between_processes;   // of times
  // The best of its sizes; null for what was not measured.
  const Rate* best(std::string_view name) const;
};

Result<Calibration> calibrate(Device& device, const GpuInfo& gpu);

std::string to_json(const Calibration& calibration);   // schema kernelwright/calibration/1
Result<Calibration> calibration_of(std::string_view json, const std::string& file);
// Where it went.
Result<std::string> store(const Calibration& calibration);
// The latest for a GPU of this architecture: sm_90a is one with sm_90. None when none is there. An error: one of any GPU cannot be read.
Result<std::optional<Calibration>> stored_calibration(std::string_view target);
// Of the device whose capabilities have this name, "NVIDIA H200 (sm_90)": none when it was never calibrated, or not in that respect.
Result<std::optional<ProcessSpread>> stored_process_spread(std::string_view device);

}  // namespace kw::device
