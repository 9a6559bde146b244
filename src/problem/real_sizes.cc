#include "problem/real_sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "problem/inputs.h"
#include "problem/plan_memory.h"

namespace kw::problem {
namespace {

constexpr double kMostOperations = 2e8;    // of a workload other than the one that is admitted
constexpr double kChance = 1.0 / 15;       // that a constant may pass with
constexpr double kNormal = 1.13;           // sqrt(2) * 0.8: P(|N(0, 1)| < e) is about 0.8 e
constexpr std::size_t kFewElements = 64;   // with so many one pair of seeds says enough
constexpr std::uint64_t kSeeds = 6;

struct Point {  // of one output
  double size = 1;      // operations per element
  double elements = 1;
  double spread = std::numeric_limits<double>::infinity();  // r
};

Result<std::vector<Point>> sizes_at(const Problem& problem, const AxisValues& axes) {
  KW_TRY(const NodeShapes known, node_shapes(problem, axes));
  std::vector<Point> points;
  for (const TensorDecl& output : problem.outputs) {
    const double elements = std::max(1.0, static_cast<double>(known.counts[static_cast<std::size_t>(output.node)]));
    points.push_back({std::max(1.0, known.operations / elements), elements});
  }
  return points;
}

// The largest |difference| / budget of an element, rms over pairs of seeds.
Result<std::vector<Point>> measure(const Admitting& a, const Workload& workload) {
  KW_TRY(std::vector<Point> points, sizes_at(a.problem, workload.axes));
  std::vector<Evaluation> draws;
  Tolerance tolerance;
  const bool few = std::any_of(points.begin(), points.end(), [](const Point& p) { return p.elements < kFewElements; });
  for (std::uint64_t draw = 0; draw < (few ? kSeeds : 2); ++draw) {
    KW_TRY(const auto inputs, make_inputs(a.problem, workload, a.seed ^ (0x5eed * (draw + 1))));
    KW_TRY(Evaluation evaluation, evaluate(a.problem, workload, inputs, a.options));
    if (draw == 0) {
      KW_TRY(tolerance, derive_tolerance(a.problem, workload, inputs, &evaluation, a.options));
    }
    draws.push_back(std::move(evaluation));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const tensor::Budget& budget = tolerance.outputs[i].budget;
    double squares = 0;
    for (std::size_t draw = 1; draw < draws.size(); ++draw) {
      double most = 0;
      const auto first = draws[draw - 1].outputs[i].to_doubles(), second = draws[draw].outputs[i].to_doubles();
      for (std::size_t e = 0; e < first.size(); ++e) {
        if (!std::isfinite(first[e]) || !std::isfinite(second[e])) continue;
        const double difference = std::abs(first[e] - second[e]), allowed = budget.atol + budget.rtol * std::abs(first[e]);
        if (difference > 0) most = std::max(most, allowed > 0 ? difference / allowed : std::numeric_limits<double>::infinity());
      }
      squares += most * most;
    }
    points[i].spread = std::sqrt(squares / static_cast<double>(draws.size() - 1));
  }
  return points;
}

double chance(double spread, double elements) {
  return spread <= kNormal ? 1 : std::pow(kNormal / spread, std::min(elements, 64.0));
}

double extended(const std::vector<Point>& points, const Point& largest, double size) {
  double slope = 0, n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Point& p : points) {
    if (!std::isfinite(p.spread) || p.spread <= 0) continue;
    const double u = std::log(p.size), v = std::log(p.spread);
    n += 1, x += u, y += v, xx += u * u, xy += u * v;
  }
  const double width = n * xx - x * x;
  if (n >= 2 && width > 1e-9) slope = std::clamp((n * xy - x * y) / width, -1.0, 0.0);
  return largest.spread * std::pow(std::max(1.0, size / largest.size), slope);
}

}  // namespace

Result<AdmissionCase> varies_at_real_sizes(const Admitting& a) {
  AdmissionCase made{"varies at real sizes", AdmissionKind::kMutant, false, true, 0, "no workload is real"};
  const Workload* real = nullptr;
  double most = 0;
  for (const Workload& workload : a.problem.workloads) {
    const auto cost = cost_of(a.problem, workload);
    if (workload.role != Role::kReal || !cost || cost->operations <= most) continue;
    most = cost->operations;
    real = &workload;
  }
  if (real == nullptr) return made;
  // Indices of a real workload may not fit the axes of a small one, which then keeps its own inputs.
  const auto measured_at = [&](const Workload& workload) {
    Workload copy = workload;
    copy.inputs = real->inputs;
    auto points = measure(a, copy);
    return points ? std::move(points) : measure(a, workload);
  };
  made.applicable = true;
  made.detail.clear();
  made.budget_used = std::numeric_limits<double>::infinity();
  KW_TRY(const std::vector<Point> wanted, sizes_at(a.problem, real->axes));
  KW_TRY(const std::vector<Point> largest, measured_at(a.workload));
  const auto surely_varies = [&](std::size_t i) {
    return chance(largest[i].spread / std::max(1.0, wanted[i].size / largest[i].size), wanted[i].elements) <= kChance;
  };
  std::vector<std::vector<Point>> measured = {largest};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (surely_varies(i)) continue;
    if (measured.size() == 1)
      for (const Workload& workload : a.problem.workloads) {
        const auto cost = cost_of(a.problem, workload);
        if (&workload == &a.workload || workload.role == Role::kReal || !cost || cost->operations > kMostOperations) continue;
        if (auto points = measured_at(workload)) measured.push_back(std::move(*points));
      }
    std::vector<Point> points;
    for (const auto& each : measured) points.push_back(each[i]);
    const double spread = extended(points, largest[i], wanted[i].size);
    made.budget_used = std::min(made.budget_used, spread);
    const double passes = chance(spread, wanted[i].elements);
    if (passes <= kChance) continue;
    made.as_expected = false;
    made.detail = fmt::format("at the sizes of '{}' another draw of the inputs moves output '{}' by about {:.2g} of its budget (from {} smaller "
                              "sizes): a constant passes {:.0f} times in 100", real->name, a.problem.outputs[i].name, spread, points.size(), 100 * passes);
  }
  return made;
}

}  // namespace kw::problem
