#include "judge/minimise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace kw::judge {
namespace {

problem::Problem rows(const std::string& constraints = "  M >= 1\n  N >= 1\n") {
  auto problem = problem::parse_problem("problem t: \"t\"\naxes:\n" + constraints +
                                            "inputs:\n  x: f32[M, N] ~ normal(0, 1)\n  z: f32[N] ~ normal(0, 1)\noutputs:\n  y: f32[M, N]\n"
                                            "reference:\n  y = x + z\nworkloads:\n  smallest one: M=8, N=8\n",
                                        "case");
  EXPECT_TRUE(problem) << format_error(problem.error());
  return *problem;
}

problem::Workload workload(const problem::Problem& problem, int64_t m, int64_t n) {
  auto made = problem::make_workload(problem, "odd", problem::Role::kShape, {{"M", m}, {"N", n}});
  EXPECT_TRUE(made);
  return *made;
}

// A runner that fails where `fails` says, and sees that no trial is dearer than what failed so far, and none is run twice.
struct Runner {
  const problem::Problem& problem;
  std::function<bool(const problem::Workload&)> fails;
  double known = 1e300;
  std::set<std::string> seen = {};

  Minimal minimise(const problem::Workload& failing, TrialBudget budget = {}) {
    known = problem::cost_of(problem, failing)->operations;
    Wrong wrong;
    wrong.workload = {failing.name, failing.axes, false};
    wrong.first.tensor = "seen before";
    return smallest_failing(problem, failing, wrong, budget, [&](const problem::Workload& trial) { return run(trial); });
  }
  std::optional<Wrong> run(const problem::Workload& trial) {
    std::string name = fmt::format("{} {}", trial.axes.at("M"), trial.axes.at("N"));
    for (const auto& [input, distribution] : trial.inputs) name += " " + input + distribution.text();
    EXPECT_TRUE(seen.insert(name).second) << name << " is run twice";
    const double cost = problem::cost_of(problem, trial)->operations;
    EXPECT_LE(cost, known) << name;
    if (!fails(trial)) return std::nullopt;
    known = cost;
    Wrong wrong;
    wrong.first.tensor = "y";
    wrong.first.index = {trial.axes.at("M") - 1, trial.axes.at("N") - 1};
    return wrong;
  }
};

TEST(Minimise, FindsWhereATailBegins) {
  const auto problem = rows();
  Runner runner{problem, [](const auto& w) { return w.axes.at("N") > 32; }};
  const Minimal found = runner.minimise(workload(problem, 7, 129));
  EXPECT_EQ(found.workload.axes, (problem::AxisValues{{"M", 1}, {"N", 33}}));
  EXPECT_EQ(found.workload.name, "odd");
  EXPECT_TRUE(found.workload.chosen_by_judge);
  EXPECT_EQ(found.first.index, (std::vector<int64_t>{0, 32}));
  EXPECT_EQ(found.runs, static_cast<int>(runner.seen.size()));
}

TEST(Minimise, WhatFailsEverywhereIsOneElement) {
  const auto problem = rows();
  Runner runner{problem, [](const auto&) { return true; }};
  const Minimal found = runner.minimise(workload(problem, 64, 1000));
  EXPECT_EQ(found.workload.axes, (problem::AxisValues{{"M", 1}, {"N", 1}}));
  EXPECT_EQ(found.runs, 2);
}

TEST(Minimise, WhatFailsNowhereElseStaysAsItWasSeen) {
  const auto problem = rows();
  Runner runner{problem, [](const auto&) { return false; }};
  const Minimal found = runner.minimise(workload(problem, 7, 129));
  EXPECT_EQ(found.workload.axes, (problem::AxisValues{{"M", 7}, {"N", 129}}));
  EXPECT_FALSE(found.workload.chosen_by_judge);
  EXPECT_EQ(found.first.tensor, "seen before");
}

TEST(Minimise, EveryTrialSatisfiesTheConstraints) {
  const auto problem = rows("  M >= 2\n  N >= 8, N % 8 == 0\n");
  Runner runner{problem, [&problem](const auto& w) {
                  EXPECT_TRUE(problem::check_workload(problem, w).has_value());
                  return w.axes.at("N") >= 41;
                }};
  const Minimal found = runner.minimise(workload(problem, 9, 512));
  EXPECT_EQ(found.workload.axes, (problem::AxisValues{{"M", 2}, {"N", 48}}));
}

// M matters only once N is small: one round is not enough.
TEST(Minimise, GoesRoundUntilNoAxisGivesWay) {
  const auto problem = rows();
  Runner runner{problem, [](const auto& w) { return w.axes.at("M") * w.axes.at("N") >= 64 && (w.axes.at("M") > 4 || w.axes.at("N") == 16); }};
  const Minimal found = runner.minimise(workload(problem, 40, 64));
  EXPECT_LE(found.workload.axes.at("M") * found.workload.axes.at("N"), 80);
  EXPECT_TRUE(runner.fails(workload(problem, found.workload.axes.at("M"), found.workload.axes.at("N"))));
}

TEST(Minimise, KeepsToItsBudgetOfRuns) {
  const auto problem = rows();
  Runner runner{problem, [](const auto& w) { return w.axes.at("N") > 700; }};
  const Minimal found = runner.minimise(workload(problem, 1000, 1000), {3, 60});
  EXPECT_EQ(found.runs, 3);
  EXPECT_GT(found.workload.axes.at("N"), 700);
}

TEST(Minimise, WithoutTimeNothingIsRun) {
  const auto problem = rows();
  Runner runner{problem, [](const auto&) { return true; }};
  EXPECT_EQ(runner.minimise(workload(problem, 7, 129), {32, 0}).runs, 0);
}

TEST(Minimise, ChangedInputsThatDoNotMatterArePutBack) {
  const auto problem = rows();
  problem::Workload failing = workload(problem, 4, 40);
  failing.name = "odd with both";
  const problem::Distribution zero{problem::Distribution::Form::kConstant, 0, 0};
  failing.inputs = {{"x", zero}, {"z", zero}};
  Runner runner{problem, [](const auto& w) {
                  return std::any_of(w.inputs.begin(), w.inputs.end(), [](const auto& each) { return each.first == "z"; });
                }};
  const Minimal found = runner.minimise(failing);
  EXPECT_EQ(found.workload.name, "z ~ constant(0)");
  EXPECT_EQ(found.workload.axes, (problem::AxisValues{{"M", 1}, {"N", 1}}));
}

TEST(Minimise, TheSameWorkloadGivesTheSameTrials) {
  const auto problem = rows();
  const auto fails = [](const problem::Workload& w) { return w.axes.at("N") % 32 == 1 && w.axes.at("M") > 2; };
  Runner a{problem, fails}, b{problem, fails};
  EXPECT_EQ(a.minimise(workload(problem, 7, 129)).workload.axes, b.minimise(workload(problem, 7, 129)).workload.axes);
  EXPECT_EQ(a.seen, b.seen);
}

}  // namespace
}  // namespace kw::judge
