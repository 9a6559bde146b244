#include "judge/call_again.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rng.h"
#include "plan/ptx_outline.h"
#include "problem/inputs.h"

namespace kw::judge {
namespace {

using Inputs = std::vector<tensor::Tensor>;
using Form = problem::Distribution::Form;

// A counter that outlives calls is believed after so many. More would be no proof either.
constexpr size_t kCalls = 16;

bool keeps_variables(const plan::Plan& plan) {
  return std::any_of(plan.modules.begin(), plan.modules.end(), [](const plan::Module& module) {
    const auto outline = plan::remembered_outline(module.ptx);
    return std::any_of(outline->variables.begin(), outline->variables.end(), [](const auto& variable) { return !variable.constant; });
  });
}

// One element of each input becomes that of `others`, wherever elements do not depend on each other.
Result<Inputs> change_a_little(const Climb& climb, const Case& c, Inputs inputs, const Inputs& others, Rng rng) {
  constexpr int kAttempts = 16;   // integers of a small range are often the same
  for (size_t i = 0; i < inputs.size(); ++i) {
    KW_TRY(const problem::Distribution distribution, problem::distribution_of(climb.problem.inputs[i], c.workload));
    const Form form = distribution.form;
    if (form != Form::kNormal && form != Form::kUniform && form != Form::kIntegers && form != Form::kSpikes) continue;
    for (int attempt = 0; attempt < kAttempts && inputs[i].size() > 0; ++attempt) {
      const auto at = static_cast<int64_t>(rng.below(static_cast<uint64_t>(inputs[i].size())));
      if (inputs[i].bits_at(at) == others[i].bits_at(at)) continue;
      inputs[i].set(at, others[i].at(at));
      break;
    }
  }
  return inputs;
}

std::string name_of_call(size_t index) {
  if (index == 1) return "a second call, after other inputs";
  if (index == 2) return "a third call, after nearly the same inputs";
  return fmt::format("call {} of one process", index + 1);
}

}  // namespace

Result<RungResult> call_again(const Climb& climb, const Case& c, const device::RunOptions& options) {
  if (!keeps_variables(c.plan)) return RungResult{};
  Rng rng = Rng(climb.seed).fork("calls " + c.name.name);
  KW_TRY(const Inputs others, problem::make_inputs(climb.problem, c.workload, rng.next()));
  KW_TRY(const Inputs nearly, change_a_little(climb, c, others, c.inputs, rng));
  std::vector<const Inputs*> sequence{&c.inputs, &others, &nearly};

  // Calls that read nothing of what earlier ones left in the variables are all like a first one.
  device::RunOptions strict = options;
  strict.forbid_stale_variables = true;
  auto fresh = execute_calls(*climb.device, climb.problem, c, sequence, strict);
  if (!fresh) return not_run(climb, c, fresh.error());
  if (climb.device->capabilities().findings && fresh->back().report.clean()) return RungResult{};

  // Otherwise what they read must make no difference, which only trying shows.
  std::vector<Execution> alone;
  for (size_t i = 0; i < sequence.size(); ++i) {
    auto calls = execute_calls(*climb.device, climb.problem, c, std::span(sequence).subspan(i, 1), options);
    if (!calls) return not_run(climb, c, calls.error());
    alone.push_back(std::move(calls->front()));
    if (auto failed = judge_findings(climb, c, alone.back().report, false)) return RungResult{std::move(failed), ""};
  }
  std::vector<size_t> which{0, 1, 2};
  for (size_t i = which.size(); i < kCalls; ++i) {
    which.push_back(rng.below(3));
    sequence.push_back(sequence[which.back()]);
  }
  auto calls = execute_calls(*climb.device, climb.problem, c, sequence, options);
  if (!calls) return not_run(climb, c, calls.error());
  for (size_t i = 1; i < calls->size(); ++i) {
    if (auto failed = judge_findings(climb, c, (*calls)[i].report, false)) return RungResult{std::move(failed), ""};
    if (auto differs = first_difference(climb, c, alone[which[i]], (*calls)[i])) {
      differs->first_schedule = "a first call";
      differs->second_schedule = name_of_call(i);
      return RungResult{*differs, ""};
    }
  }
  return RungResult{};
}

}  // namespace kw::judge
