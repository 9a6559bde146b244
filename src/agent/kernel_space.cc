#include "agent/kernel_space.h"

#include <algorithm>
#include <set>

#include "agent/known_evaluations.h"
#include "agent/tunables.h"
#include "base/hash.h"
#include "base/rng.h"

namespace kw::agent {
namespace {

struct Step {
  double priority = 0;
  std::string idea, source;
};

}  // namespace

Result<std::vector<search::Proposal>> KernelSpace::propose(const search::Situation& situation) {
  const std::string& state = made_of(situation.path.back());
  KW_TRY(const std::string source, store_.with([&](store::Store& store) { return store.object(state); }));
  KW_TRY(const std::vector<Tunable> tunables, find_tunables(source, file_));
  std::set<std::string> known;
  for (const auto& tried : situation.children) known.insert(made_of(tried));
  for (const auto& waiting : situation.waiting) known.insert(waiting.state);
  for (const auto& tried : situation.path) known.insert(made_of(tried));
  std::vector<Step> steps;
  for (const Tunable& tunable : tunables) {
    for (size_t value = 0; value < tunable.values.size(); ++value) {
      if (value == tunable.chosen) continue;
      Step step;
      step.source = with_value(source, tunable, value);
      if (known.contains(hash_hex(step.source))) continue;
      const size_t away = value > tunable.chosen ? value - tunable.chosen : tunable.chosen - value;
      step.priority = 0.5 / static_cast<double>(away);
      step.idea = fmt::format("{} = {} instead of {}", tunable.name, tunable.values[value], tunable.values[tunable.chosen]);
      steps.push_back(std::move(step));
    }
  }
  Rng rng(situation.seed);
  for (size_t i = steps.size(); i > 1; --i) std::swap(steps[i - 1], steps[rng.below(i)]);
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.priority > b.priority; });
  std::vector<search::Proposal> out;
  for (Step& step : steps) {
    if (static_cast<int>(out.size()) == situation.count) break;
    KW_TRY(std::string hash, store_.with([&](store::Store& store) { return store.put(step.source); }));
    out.push_back({std::move(hash), std::move(step.idea), step.priority});
  }
  return out;
}

Result<search::Outcome> KernelSpace::evaluate(const search::Assignment& assignment) {
  KW_TRY(const std::string source, store_.with([&](store::Store& store) { return store.object(assignment.proposal.state); }));
  KW_TRY(Evaluation evaluation, evaluations_.of(source));
  evaluation.outcome.made = assignment.proposal.state;
  return std::move(evaluation.outcome);
}

const std::string& made_of(const search::Tried& tried) { return tried.outcome && !tried.outcome->made.empty() ? tried.outcome->made : tried.proposal.state; }

}  // namespace kw::agent
