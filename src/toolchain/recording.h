// What one run of a candidate's host code gave, whatever its language. Internal to toolchain.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/subprocess.h"
#include "plan/plan.h"
#include "toolchain/toolchain.h"

namespace kw::toolchain {

struct Recording {
  plan::Plan plan;
  std::vector<std::vector<uint64_t>> sites;   // of each step, as CallSites reads them; empty when the steps have their lines
};
using Outcome = std::variant<Recording, Unrecordable>;

// What a process that ended before its recording did says about the candidate; `notes` are for one that ended by itself.
Unrecordable unrecordable_of(const ProcessOutcome& outcome, std::vector<std::string> notes);

// The reason with the end of what the process printed.
Unrecordable with_output(Unrecordable reason, const ProcessOutcome& outcome);

// The number of the step that a complaint of plan::check begins with; `none` when it names none.
size_t step_named_in(const std::string& message, size_t none);

}  // namespace kw::toolchain
