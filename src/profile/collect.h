// From (problem, candidate, target) to what is known of it, with no GPU: compiled and recorded as the judge does, the
// compiler's own report and machine code, and the emulator's counters. The counters come from a shorter workload whose blocks do the same
// (shorten.h), as far as a few blocks of the real launch confirm that; else from some blocks of the profiled one (sample.h), else from another workload that an emulator can run, scaled (scale.h).
// Grids, buffers and bytes are those of the profiled one, which as a whole nothing but a GPU (Options::gpu) executes.
// Errors: what the candidate does wrong as well (it does not compile, cannot be recorded, faults): the judge is the one
// that tells more about it. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/calibration.h"
#include "profile/subject.h"

namespace kw::profile {

struct Options {
  std::string target = "sm_80";
  std::string workload;          // to profile; empty: the first real one, else the emulator's
  uint64_t seed = 1;             // of the inputs of the counted workload
  int threads = 0;               // host threads for emulation; 0: all
  double deadline_s = 60;        // of the emulated workload
  // Also measure the profiled workload there; the estimate is for that GPU's memory. `target` should be its architecture.
  std::shared_ptr<device::Device> gpu;
  // With `gpu`: a program that executes a plan once there (`kw device replay`), to be run under ncu; the plan's file, the problem's,
  // and options for workload and seed are added. Empty: the GPU's counters are not read.
  std::vector<std::string> replay;
  std::optional<device::Calibration> calibration;   // peaks of a device of the target's architecture
};

// `problem` must outlive the result.
Result<Subject> collect(const problem::Problem& problem, const std::string& candidate, const Options& options);

}  // namespace kw::profile
