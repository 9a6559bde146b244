#include "judge/minimise.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/parallel.h"
#include "judge/run_cases.h"
#include "judge/values.h"

namespace kw::judge {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMostSteps = 256;   // to the next value that the constraints allow

// What sets a workload apart, for people: its name, or the changes that are left of those that it was made with.
std::string name_of_trial(const problem::Workload& workload, const problem::Workload& failing) {
  if (workload.inputs.size() == failing.inputs.size()) return failing.name;
  std::string changes;
  for (const auto& [input, distribution] : workload.inputs) {
    changes += fmt::format("{}{} ~ {}", changes.empty() ? "" : ", ", input, distribution.text());
  }
  return changes.empty() ? "the problem's own values" : changes;
}

class Search {
 public:
  Search(const problem::Problem& problem, const problem::Workload& failing, const Wrong& seen, const TrialBudget& budget, const Trial& trial)
      : problem_(problem), failing_(failing), budget_(budget), trial_(trial), smallest_(failing), wrong_(seen) {
    tried_.insert(failing.axes);
  }

  Minimal run() {
    drop_changes();
    while (!spent() && shrink_every_axis()) {
    }
    const bool own = smallest_.axes != failing_.axes || smallest_.inputs.size() != failing_.inputs.size();
    return {{name_of_trial(smallest_, failing_), smallest_.axes, own || wrong_.workload.chosen_by_judge}, wrong_.first, runs_};
  }

 private:
  bool spent() const {
    return runs_ >= budget_.runs || std::chrono::duration<double>(Clock::now() - begin_).count() >= budget_.seconds;
  }

  bool fails(const problem::Workload& workload) {
    if (spent()) return false;
    ++runs_;
    auto wrong = trial_(workload);
    if (!wrong) return false;
    smallest_ = workload;
    wrong_ = std::move(*wrong);
    return true;
  }

  void drop_changes() {
    for (size_t i = 0; i < smallest_.inputs.size() && smallest_.inputs.size() > 1;) {
      problem::Workload simpler = smallest_;
      simpler.inputs.erase(simpler.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      if (!fails(simpler)) ++i;
    }
  }

  // The smallest so far with another value of one axis, if that is a workload that costs no more.
  std::optional<problem::Workload> with(const std::string& axis, int64_t value) const {
    problem::AxisValues axes = smallest_.axes;
    axes[axis] = value;
    auto made = problem::make_workload(problem_, failing_.name, problem::Role::kShape, axes);
    if (!made) return std::nullopt;
    made->inputs = smallest_.inputs;
    if (!problem::check_workload(problem_, *made)) return std::nullopt;
    const auto cost = problem::cost_of(problem_, *made), known = problem::cost_of(problem_, smallest_);
    if (!cost || !known || cost->operations > known->operations) return std::nullopt;
    return *made;
  }

  // The first of first, first + step, … before `end` that is a workload.
  std::optional<problem::Workload> first_from(const std::string& axis, int64_t first, int64_t step, int64_t end) const {
    for (int64_t i = 0, value = first; i < kMostSteps && value != end; ++i, value += step) {
      if (auto made = with(axis, value)) return made;
    }
    return std::nullopt;
  }

  bool is_new_and_fails(const problem::Workload& workload) { return tried_.insert(workload.axes).second && fails(workload); }

  // Fails at the axis' own value, and at none that was tried up to `passes`.
  bool shrink(const std::string& axis) {
    const int64_t before = smallest_.axes.at(axis);
    auto next = first_from(axis, 1, 1, before);
    if (!next) return false;
    if (is_new_and_fails(*next)) return true;
    int64_t passes = next->axes.at(axis);
    while (!spent()) {
      const int64_t fails_at = smallest_.axes.at(axis), middle = passes + (fails_at - passes) / 2;
      next = first_from(axis, middle, -1, passes);
      if (!next) next = first_from(axis, middle + 1, 1, fails_at);
      if (!next) break;
      if (!is_new_and_fails(*next)) passes = next->axes.at(axis);
    }
    return smallest_.axes.at(axis) != before;
  }

  bool shrink_every_axis() {
    std::vector<std::pair<int64_t, std::string>> order;   // the largest first, which makes the next trials cheap
    for (const auto& [axis, value] : smallest_.axes) order.emplace_back(-value, axis);
    std::sort(order.begin(), order.end());
    bool smaller = false;
    for (const auto& [value, axis] : order) smaller |= shrink(axis);
    return smaller;
  }

  const problem::Problem& problem_;
  const problem::Workload& failing_;
  const TrialBudget budget_;
  const Trial& trial_;
  const Clock::time_point begin_ = Clock::now();
  problem::Workload smallest_;
  Wrong wrong_;                             // how smallest_ fails
  std::set<problem::AxisValues> tried_;
  int runs_ = 0;
};

}  // namespace

Minimal smallest_failing(const problem::Problem& problem, const problem::Workload& failing, const Wrong& seen, const TrialBudget& budget,
                         const Trial& trial) {
  return Search(problem, failing, seen, budget, trial).run();
}

void minimise(const Climb& climb, Rung rung, RungResult& result) {
  auto* wrong = result.failed ? std::get_if<Wrong>(&*result.failed) : nullptr;
  if (wrong == nullptr || !result.workload) return;
  const problem::Workload failing = *result.workload;
  const int threads = climb.options.threads > 0 ? climb.options.threads : available_cores();
  wrong->minimal = smallest_failing(climb.problem, failing, *wrong, {}, [&](const problem::Workload& workload) -> std::optional<Wrong> {
    Case c{workload, wrong->workload, {}, false, {}, {}, {}};   // its name, for the inputs are those of the failing case
    if (!record_case(climb, c)) return std::nullopt;
    if (!prepare(climb.problem, c, input_seed(climb, c), threads)) return std::nullopt;
    if (rung == Rung::kValues && !is_representable(climb.problem, c)) return std::nullopt;
    Tally tally;
    auto again = run_case(climb, c, threads, tally);
    if (rung == Rung::kPieces) return again && tally.wrong_piece ? std::optional(tally.wrong_piece->wrong) : std::nullopt;
    auto* found = again && again->failed ? std::get_if<Wrong>(&*again->failed) : nullptr;
    return found == nullptr ? std::nullopt : std::optional(std::move(*found));
  });
}

}  // namespace kw::judge
