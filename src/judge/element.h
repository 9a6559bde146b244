// Which element of which tensor a finding's bytes are. Pure.
#pragma once

#include "emu/finding.h"
#include "judge/verdict.h"
#include "plan/plan.h"

namespace kw::judge {

// `role` stays empty when the finding's object is no tensor of the plan.
TensorElement element_of(const plan::Plan& plan, const emu::Finding& finding);

// "output y + 34 bytes: element [0, 17] of float16 [2, 64]"; empty for what is no tensor.
std::string text_of(const TensorElement& element, const emu::Finding& finding);

}  // namespace kw::judge
