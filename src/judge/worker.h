// The other end of a bundle: the rungs of a GPU, climbed where it is from recorded plans, problems and seeds alone. No compiler, no
// Python, no file of the source tree.
//
// Results are a folder: results.json (which bundle, on what), cases/NNNN.json (a case and its verdict) and objects/HASH (what the
// verdicts are about). Every file is there whole or not at all, so that a worker killed at any moment loses the cases in flight;
// started again it goes on with those that have no answer. One worker at a time works on a folder.
// Errors: results of another bundle or device, a folder that is in use or cannot be written. What is wrong with a case of the bundle
// is that case's answer. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "device/device.h"
#include "judge/bundle.h"
#include "judge/suite.h"

namespace kw::judge {

struct WorkerOptions {
  std::shared_ptr<device::Device> gpu;   // an emulator too: real workloads that are too dear for it are left out
  int threads = 0;                       // of each case; 0: one
  int jobs = 0;                          // cases at once; 0: one per core
  bool energy = false;                   // with time: joules a call too
  std::optional<device::ProcessSpread> process_spread;   // of times on `gpu`
  bool time = false;                     // rung time too: then one case at once, with all cores, if not said otherwise
};
// `progress` is called for cases with an answer from earlier, too: `done` is how many have one.
Result<Suite> work(const Bundle& bundle, const std::string& folder, const WorkerOptions& options, const SuiteProgress& progress = {});

// What workers have found so far; cases that none has come to are not as expected, and say so. With `evidence` every verdict, and what
// it is about, goes into that store. Errors: no results, or altered ones.
Result<Suite> import_results(const std::string& folder, const std::string& evidence);

}  // namespace kw::judge
