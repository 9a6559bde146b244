// Module variables outlive a call: a counter that is not put back, an answer kept for inputs that look the same. Internal
// to judge.
#pragma once

#include "judge/run_cases.h"

namespace kw::judge {

// Whether calls after others, with other inputs and with inputs that are the same but for an element, give the bits that
// they give as first calls. Passes at once when the device code has no variables to keep anything in; when calls read
// nothing that earlier ones left there, three are enough.
Result<RungResult> call_again(const Climb& climb, const Case& c, const device::RunOptions& options);

}  // namespace kw::judge
