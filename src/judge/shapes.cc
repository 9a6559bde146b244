#include "judge/shapes.h"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace

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
    if (!workload) continue;
    const auto cost = problem::cost_of(problem, *workload);
    if (!cost || cost->operations > kMaxChosenOperations || cost->operations <= 0) continue;
    chosen.push_back(std::move(*workload));
  }
  return chosen;
}

}  // namespace kw::judge
