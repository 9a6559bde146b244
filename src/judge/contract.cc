// The contract rung: the recorded plans against the problem's interface and the target's limits, and the
// device code against the PTX ISA (inline assembly reaches us unchecked: nvcc -ptx does not assemble it).
#include <fmt/format.h>

#include <set>

#include "judge/rungs.h"
#include "ptx/parser.h"
#include "ptx/verifier.h"

namespace kw::judge {
namespace {

// The C++ line an instruction of generated PTX came from is in its .loc; the PTX line itself means little to
// the author, so the PTX text is quoted.
CompileError device_code_error(const Error& error) {
  CompileError out;
  CompileError::Diagnostic diagnostic;
  diagnostic.message = "device code: " + error.message;
  if (!error.source_line.empty()) diagnostic.message += " in `" + error.source_line + "`";
  out.diagnostics.push_back(diagnostic);
  out.log = format_error(error);
  return out;
}

std::optional<Outcome> check_module(const plan::Module& module) {
  auto parsed = ptx::parse(module.ptx, "candidate.ptx");
  if (!parsed) return device_code_error(parsed.error());
  auto errors = ptx::verify(*parsed, 1);
  if (!errors.empty()) return device_code_error(errors.front());
  return std::nullopt;
}

}  // namespace

Result<RungResult> contract_rung(Climb& climb) {
  std::set<std::string> verified;
  size_t launches = 0;
  for (const Case& c : climb.cases) {
    for (const plan::Module& module : c.plan.modules) {
      if (!verified.insert(module.hash).second) continue;
      if (auto failed = check_module(module)) return RungResult{std::move(failed), ""};
    }
    ContractViolation violation;
    violation.workload = c.name;
    if (auto status = plan::check(c.plan); !status) {
      violation.message = status.error().message;
      violation.notes = status.error().notes;
      return RungResult{violation, ""};
    }
    for (const auto& output : climb.problem.outputs) {
      const plan::Buffer* buffer = c.plan.find_buffer(output.name);
      if (buffer != nullptr && buffer->role == plan::Role::kOutput) continue;
      violation.message = fmt::format("the output '{}' is not a parameter of the entry", output.name);
      violation.notes = {fmt::format("add `kw::Out {}` to KW_ENTRY", output.name)};
      return RungResult{violation, ""};
    }
    if (!c.plan.unjoined.empty()) {
      const plan::Step& step = c.plan.steps[c.plan.unjoined.front()];
      violation.message = "work on a side stream that the entry's stream never waits for";
      violation.place = place_of(climb, step.source_file, step.source_line);
      violation.notes = {"record an event on that stream and cudaStreamWaitEvent on the entry's stream before it returns"};
      return RungResult{violation, ""};
    }
    for (const plan::Step& step : c.plan.steps) launches += std::holds_alternative<plan::Launch>(step.action);
  }
  return RungResult{std::nullopt, fmt::format("{} launches within the limits of {}", launches, climb.options.target)};
}

}  // namespace kw::judge
