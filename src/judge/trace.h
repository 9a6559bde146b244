// The third clock: the device's own record of when kernels ran, held against the events around the same calls. Kernels of ours tell what
// events show beyond a kernel, and whether the record can be trusted. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "device/device.h"
#include "device/process_spread.h"
#include "judge/verdict.h"

namespace kw::judge {

using device::kTick_s;

// `call` makes one call of the candidate's from cold, with CallOptions::trace. An Error says why there is no trace, or is the call's own.
Result<Timing::Trace> measure_trace(device::Device& gpu, double deadline_s, double cold_s, const std::function<Result<device::CallReport>()>& call);

// What the two clocks' disagreement is, where that is nothing honest.
std::optional<std::string> disagreement(const Timing::Trace& trace);

}  // namespace kw::judge
