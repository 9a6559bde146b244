// Holds a launch against its target's limits (arch). Pure.
#pragma once

#include <string>

#include "arch/target.h"
#include "base/result.h"
#include "plan/plan.h"
#include "plan/ptx_outline.h"

namespace kw::plan {

// `where` begins the message: "step 3 (softmax.cu:41)".
Status check_launch(const std::string& where, const Launch& launch, const EntryOutline& entry, const arch::Target& target);

}  // namespace kw::plan
