// How far times of one process lie from another's on a device: where the driver puts a process's code and memory shifts all of its
// times together, so that no number of calls in one process shows it. Measured with kernels of ours in processes one after another.
// Most lie close together; now and then one is slower throughout (on an H200 by 1 us), which a kernel of ours shows as well as a
// candidate: such a process is left for another. So the deviations are those of the close ones, by the median of absolute ones.
// Errors: those of the device. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "device/device.h"

namespace kw::device {

inline constexpr double kTick_s = 32e-9;   // of the device's clock (seen on an H200); it cannot tell apart what differs by less

// Standard deviations between processes: one part whatever is timed, one that grows with it.
struct ProcessSpread {
  double absolute_s = 0, relative = 0;
  int processes = 0;               // that it was measured in
  double short_s = 0;              // what most show for the short kernel
  int multiprocessors = 0;         // that it was made for
  double deviation_s(double seconds) const;
  // For the short kernel.
  bool is_slow(double seconds) const;
};

// `begin` gives a device in a process of its own.
Result<ProcessSpread> measure_process_spread(const std::function<Result<std::unique_ptr<Device>>()>& begin, int processes, int multiprocessors);

// The short kernel's time in this process.
Result<double> short_time(Device& device, int multiprocessors);

// From the means of each process for a short kernel and for a long one. At least two of each.
ProcessSpread process_spread_of(const std::vector<double>& short_s, const std::vector<double>& long_s);

}  // namespace kw::device
