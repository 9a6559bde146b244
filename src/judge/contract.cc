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

// The recorder binds parameters to what the problem declares, but its file lies where the candidate may write.
bool is_as_declared(const plan::Buffer* buffer, const toolchain::Argument& argument) {
  using Kind = toolchain::Argument::Kind;
  if (argument.kind != Kind::kInput && argument.kind != Kind::kOutput) return true;
  if (buffer == nullptr) return argument.kind == Kind::kInput;   // inputs may be left out
  const auto bytes = plan::bytes_of(argument.dtype, argument.shape, plan::contiguous_strides(argument.shape));
  return buffer->role == (argument.kind == Kind::kInput ? plan::Role::kInput : plan::Role::kOutput) && bytes && buffer->bytes == *bytes;
}

std::optional<Outcome> check_module(const plan::Module& module) {
  auto parsed = ptx::parse(module.ptx, "candidate.ptx");
  if (!parsed) return device_code_error(parsed.error());
  auto errors = ptx::verify(*parsed, 1);
  if (!errors.empty()) return device_code_error(errors.front());
  return std::nullopt;
}

}  // namespace

std::optional<Outcome> breach_of_contract(const Climb& climb, const Case& c, std::set<std::string>& verified) {
  for (const plan::Module& module : c.plan.modules) {
    if (!verified.insert(module.hash).second) continue;
    if (auto failed = check_module(module)) return failed;
  }
  ContractViolation violation;
  violation.workload = c.name;
  if (c.plan.target != climb.compiled.target) {
    violation.message = fmt::format("the plan is for {}, not for {}", c.plan.target, climb.compiled.target);
    violation.notes = {"candidates do not write the recorder's files, nor its environment"};
    return violation;
  }
  if (auto status = plan::check(c.plan); !status) {
    violation.message = status.error().message;
    violation.notes = status.error().notes;
    return violation;
  }
  for (const toolchain::Argument& argument : toolchain::arguments_of(climb.problem, c.workload).arguments) {
    if (is_as_declared(c.plan.find_buffer(argument.name), argument)) continue;
    violation.message = fmt::format("the plan's buffer '{}' is not the problem's", argument.name);
    violation.notes = {"candidates do not write the recorder's files"};
    return violation;
  }
  if (!c.plan.unjoined.empty()) {
    const plan::Step& step = c.plan.steps[c.plan.unjoined.front()];
    violation.message = "work on a side stream that the entry's stream never waits for";
    violation.place = place_of(climb, step.source_file, step.source_line);
    violation.notes = {"record an event on that stream and cudaStreamWaitEvent on the entry's stream before it returns"};
    return violation;
  }
  return std::nullopt;
}

Result<RungResult> contract_rung(Climb& climb) {
  std::set<std::string> verified;
  size_t launches = 0;
  for (const std::vector<Case>* cases : {&climb.cases, &climb.shortened, &climb.real}) {
    for (const Case& c : *cases) {
      if (auto breach = breach_of_contract(climb, c, verified)) return RungResult{std::move(breach), ""};
      for (const plan::Step& step : c.plan.steps) launches += std::holds_alternative<plan::Launch>(step.action);
    }
  }
  return RungResult{std::nullopt, fmt::format("{} launches within the limits of {}", launches, climb.options.target)};
}

}  // namespace kw::judge
