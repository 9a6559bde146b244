#include "judge/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/rng.h"

namespace kw::judge {
namespace {

bool is_prime(int64_t n) {
  if (n < 2) return false;
  for (int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return true;
}

int64_t prime_near(int64_t n) {
  n = std::max<int64_t>(2, n);
  while (!is_prime(n)) ++n;
  return n;
}

// Cheap enough to emulate.
bool is_cheap(const problem::Problem& problem, const problem::Workload& workload, double most) {
  const auto cost = problem::cost_of(problem, workload);
  return cost && cost->operations > 0 && std::max(cost->operations, (cost->input_bytes + cost->output_bytes) / 4) <= most;
}

// A real workload made cheap: axes are halved, one after the other, the longest first and `kept` last.
std::optional<problem::Workload> shortened(const problem::Problem& problem, const problem::Workload& real, const std::string& kept) {
  std::vector<std::string> order;
  for (const auto& axis : problem.axes) {
    if (axis.name != kept) order.push_back(axis.name);
  }
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) { return real.axes.at(a) > real.axes.at(b); });
  order.push_back(kept);
  problem::AxisValues axes = real.axes;
  const auto make = [&](const problem::AxisValues& values) { return problem::make_workload(problem, real.name + " shortened", problem::Role::kShape, values); };
  for (;;) {
    auto workload = make(axes);
    if (workload && is_cheap(problem, *workload, kMaxShortenedOperations)) return std::move(*workload);
    const auto halved = std::find_if(order.begin(), order.end(), [&](const std::string& axis) {
      problem::AxisValues shorter = axes;
      shorter[axis] /= 2;
      return axes[axis] > 1 && make(shorter).has_value();
    });
    if (halved == order.end()) return std::nullopt;
    axes[*halved] /= 2;
  }
}

using Length = std::pair<std::string, int64_t>;   // of an axis

}  // namespace

std::vector<problem::Workload> shortened_workloads(const problem::Problem& problem, uint64_t seed, int count) {
  std::set<Length> wanted;
  std::vector<problem::Workload> all;
  for (const auto& workload : problem.workloads) {
    if (workload.role != problem::Role::kReal) continue;
    wanted.insert(workload.axes.begin(), workload.axes.end());
    for (const auto& axis : problem.axes) {
      if (auto shorter = shortened(problem, workload, axis.name)) all.push_back(std::move(*shorter));
    }
  }
  const auto run = [&](const problem::Workload& workload) {
    for (const auto& length : workload.axes) wanted.erase(length);
  };
  for (const auto& workload : problem.workloads) {
    if (workload.role != problem::Role::kReal) run(workload);
  }
  const auto wanted_of = [&](const problem::Workload& workload) {
    return std::count_if(workload.axes.begin(), workload.axes.end(), [&](const Length& length) { return wanted.contains(length); });
  };
  Rng rng(seed);   // chooses among equals
  for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[rng.below(i)]);
  std::vector<problem::Workload> chosen;
  while (static_cast<int>(chosen.size()) < count && !all.empty()) {
    const auto best = std::max_element(all.begin(), all.end(), [&](const auto& a, const auto& b) { return wanted_of(a) < wanted_of(b); });
    if (wanted_of(*best) == 0) break;
    run(*best);
    chosen.push_back(*best);
  }
  return chosen;
}

std::vector<problem::Workload> choose_shapes(const problem::Problem& problem, uint64_t seed, int count) {
  std::vector<const problem::Workload*> bases;
  for (const auto& workload : problem.workloads) {
    if (workload.role != problem::Role::kReal) bases.push_back(&workload);
  }
  std::vector<problem::Workload> chosen;
  if (bases.empty() || problem.axes.empty()) return chosen;

  std::set<problem::AxisValues> taken;
  for (const auto& workload : problem.workloads) taken.insert(workload.axes);
  Rng rng(seed);
  constexpr int kAttempts = 400;  // constraints such as K % 8 == 0 reject most changes of an axis
  for (int attempt = 0; attempt < kAttempts && static_cast<int>(chosen.size()) < count; ++attempt) {
    problem::AxisValues axes = bases[rng.below(bases.size())]->axes;
    const size_t changes = 1 + rng.below(2);
    for (size_t i = 0; i < changes; ++i) {
      const std::string& axis = problem.axes[rng.below(problem.axes.size())].name;
      const int64_t value = axes[axis];
      switch (rng.below(6)) {
        case 0: axes[axis] = value + 1; break;
        case 1: axes[axis] = std::max<int64_t>(1, value - 1); break;
        case 2: axes[axis] = 1; break;
        case 3: axes[axis] = prime_near(value); break;
        case 4: axes[axis] = value + 8 * static_cast<int64_t>(1 + rng.below(8)); break;
        case 5: axes[axis] = 1 + static_cast<int64_t>(rng.below(static_cast<uint64_t>(2 * std::max<int64_t>(1, value)))); break;
      }
    }
    if (!taken.insert(axes).second) continue;
    auto workload = problem::make_workload(problem, fmt::format("judge {}", chosen.size() + 1), problem::Role::kShape, axes);
    if (!workload || !is_cheap(problem, *workload, kMaxChosenOperations)) continue;
    chosen.push_back(std::move(*workload));
  }
  return chosen;
}

}  // namespace kw::judge
