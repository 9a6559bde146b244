// Module variables outlive a call: a counter that is not put back, an answer kept for inputs that look the same. Internal
// to judge.
#pragma once

#include "judge/run_cases.h"

namespace kw::judge {

// Whether a call after one with other inputs, and one after inputs that are the same but for an element, give the bits
// that they give as first calls. Passes at once when the device code has no variables to keep anything in.
Result<RungResult> call_again(const Climb& climb, const Case& c, const device::RunOptions& options);

}  // namespace kw::judge
