#include "judge/call_again.h"

#include <algorithm>

#include "base/rng.h"
#include "plan/ptx_outline.h"
#include "problem/inputs.h"

namespace kw::judge {
namespace {

using Inputs = std::vector<tensor::Tensor>;
using Form = problem::Distribution::Form;

bool keeps_variables(const plan::Plan& plan) {
  return std::any_of(plan.modules.begin(), plan.modules.end(), [](const plan::Module& module) {
    const plan::PtxOutline outline = plan::outline(module.ptx);
    return std::any_of(outline.variables.begin(), outline.variables.end(), [](const auto& variable) { return !variable.constant; });
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

}  // namespace

Result<RungResult> call_again(const Climb& climb, const Case& c, const device::RunOptions& options) {
  if (!keeps_variables(c.plan)) return RungResult{};
  Rng rng = Rng(climb.seed).fork("calls " + c.name.name);
  KW_TRY(const Inputs others, problem::make_inputs(climb.problem, c.workload, rng.next()));
  KW_TRY(const Inputs nearly, change_a_little(climb, c, others, c.inputs, rng));
  const Inputs* const calls[] = {&c.inputs, &others, &nearly};
  for (size_t second = 1; second < std::size(calls); ++second) {
    const std::span<const Inputs* const> both(calls + second - 1, 2);
    auto again = execute_last(*climb.device, climb.problem, c, both, options);
    if (!again) return not_run(again.error());
    if (auto failed = judge_findings(climb, c, again->report, false)) return RungResult{std::move(failed), ""};
    auto alone = execute_last(*climb.device, climb.problem, c, both.last(1), options);
    if (!alone) return not_run(alone.error());
    if (auto failed = judge_findings(climb, c, alone->report, false)) return RungResult{std::move(failed), ""};
    if (auto differs = first_difference(climb, c, *alone, *again)) {
      differs->first_schedule = "a first call";
      differs->second_schedule = second == 1 ? "a second call, after other inputs" : "a second call, after nearly the same inputs";
      return RungResult{*differs, ""};
    }
  }
  return RungResult{};
}

}  // namespace kw::judge
