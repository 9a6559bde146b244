#include "profile/shorten.h"

#include <algorithm>
#include <cmath>

namespace kw::profile {
namespace {

// Operations that an emulator does in about a second: with tensor cores it takes many at a time.
constexpr double kScalarOperations = 8e6, kMatrixOperations = 1e9;
constexpr int kTries = 4;   // factors for an axis

double operations_of(const problem::Problem& problem, const problem::Workload& workload) {
  const auto cost = problem::cost_of(problem, workload);
  return cost ? std::max({1.0, cost->operations, (cost->input_bytes + cost->output_bytes) / 4}) : HUGE_VAL;
}

double blocks_of(const plan::Launch& launch) { return static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2]; }

// By how much there are fewer blocks in `small`, when that is the only difference; else none.
std::optional<double> fewer_blocks(const plan::Plan& large, const plan::Plan& small) {
  if (large.steps.size() != small.steps.size()) return std::nullopt;
  std::optional<double> fewer;
  for (size_t i = 0; i < large.steps.size(); ++i) {
    if (large.steps[i].action.index() != small.steps[i].action.index()) return std::nullopt;
    const auto* a = std::get_if<plan::Launch>(&large.steps[i].action);
    if (a == nullptr) continue;
    const plan::Launch& b = std::get<plan::Launch>(small.steps[i].action);
    if (a->kernel != b.kernel || a->block != b.block || a->dynamic_shared_bytes != b.dynamic_shared_bytes) return std::nullopt;
    const double each = blocks_of(*a) / blocks_of(b);
    if (fewer && std::abs(each / *fewer - 1) > 0.05) return std::nullopt;
    fewer = each;
  }
  return fewer;
}

bool uses_tensor_cores(const plan::Plan& plan) {
  return std::any_of(plan.modules.begin(), plan.modules.end(), [](const plan::Module& module) { return module.ptx.find("mma.sync") != std::string::npos; });
}

}  // namespace

std::optional<Shortened> shorten(const problem::Problem& problem, const problem::Workload& workload, const plan::Plan& plan, const Record& record) {
  const double most = uses_tensor_cores(plan) ? kMatrixOperations : kScalarOperations;
  Shortened best{workload, plan};
  for (const problem::Axis& axis : problem.axes) {
    double excess = operations_of(problem, best.workload) / most;
    if (excess <= 1) break;
    for (int tries = 0; tries < kTries && excess > 1; ++tries) {
      int64_t& length = best.workload.axes.at(axis.name);
      int64_t factor = 1;   // a power of two that divides the length, so that tiles keep their residues
      while (static_cast<double>(factor) < excess && length % (factor * 2) == 0) factor *= 2;
      if (factor == 1) break;
      problem::Workload shorter = best.workload;
      shorter.axes.at(axis.name) = length / factor;
      shorter.role = problem::Role::kEmulator;
      shorter.note.clear();
      if (!problem::check_workload(problem, shorter)) {
        excess /= 4;
        continue;
      }
      const auto recorded = record(shorter);
      const std::optional<double> fewer = recorded ? fewer_blocks(best.plan, *recorded) : std::nullopt;
      if (!fewer) {   // another kernel or block for so small a size
        excess = static_cast<double>(factor) / 8;
        continue;
      }
      if (*fewer <= 1) break;
      const double less = operations_of(problem, best.workload) / operations_of(problem, shorter);
      if (std::abs(less / *fewer - 1) > 0.05) {
        excess = *fewer;   // shorter than a tile, perhaps: just as many blocks fewer
        if (*fewer >= static_cast<double>(factor)) break;
        continue;
      }
      best = {std::move(shorter), *recorded};
      break;
    }
  }
  if (operations_of(problem, best.workload) > most) return std::nullopt;
  return best;
}

}  // namespace kw::profile
