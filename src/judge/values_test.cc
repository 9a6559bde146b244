#include "judge/values.h"

#include <gtest/gtest.h>

#include <set>

#include "problem/inputs.h"

namespace kw::judge {
namespace {

problem::Problem parse(const std::string& inputs, const std::string& reference) {
  auto problem = problem::parse_problem("problem p: \"p\"\naxes:\n  N >= 1\ninputs:\n" + inputs +
                                        "outputs:\n  y: f32[N]\nreference:\n  y = " + reference +
                                        "\nworkloads:\n  smallest s: N=4\n  shape t: N=33\n", "p");
  EXPECT_TRUE(problem) << format_error(problem.error());
  return *problem;
}

TEST(Values, ChangeOneInputOrAllAndSayWhat) {
  const auto p = parse("  a: f32[N] ~ normal(0, 2)\n  b: f16[N] ~ uniform(0, 1)\n", "a + cast(b, f32)");
  const auto chosen = choose_values(p, p.workloads[1], 7, 12);
  ASSERT_EQ(chosen.size(), 12u);
  std::set<std::string> names;
  bool both = false;
  for (const auto& workload : chosen) {
    EXPECT_TRUE(problem::check_workload(p, workload)) << workload.name;
    EXPECT_TRUE(workload.name.starts_with("t with ")) << workload.name;
    names.insert(workload.name);
    both = both || workload.inputs.size() == 2;
    for (const auto& [input, distribution] : workload.inputs) {
      if (input != "b") continue;   // stays in its domain
      EXPECT_GE(distribution.a, 0) << workload.name;
      EXPECT_LE(std::max(distribution.a, distribution.b), 1) << workload.name;
    }
  }
  EXPECT_EQ(names.size(), 12u);
  EXPECT_TRUE(both);
  const auto again = choose_values(p, p.workloads[1], 7, 12);
  for (size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].name, chosen[i].name);
  EXPECT_NE(choose_values(p, p.workloads[1], 8, 12)[0].name + choose_values(p, p.workloads[1], 8, 12)[1].name, chosen[0].name + chosen[1].name);
}

// A kernel that is wrong for zeros alone must not pass by luck.
TEST(Values, EveryInputIsChangedInEveryWayThatThereIsRoomFor) {
  const auto p = parse("  a: f32[N] ~ normal(0, 2)\n  b: f32[N] ~ normal(0, 1)\n", "a + b");
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::set<std::string> names;
    for (const auto& workload : choose_values(p, p.workloads[1], seed, 32)) names.insert(workload.name);
    EXPECT_EQ(names.count("t with a ~ constant(0)") + names.count("t with b ~ constant(0)"), 2u) << seed;
  }
}

TEST(Values, LeaveStructureAlone) {
  const auto p = parse("  i: i32[N] ~ sorted(0, 3)\n  a: f32[N] ~ one_hot(1)\n  b: f32[N] ~ integers(0, 3)\n", "a + b + cast(i, f32)");
  EXPECT_TRUE(choose_values(p, p.workloads[1], 7, 8).empty());
  const auto q = parse("  a: f32[N]\n", "a + 1");
  EXPECT_EQ(choose_values(q, q.workloads[1], 7, 100).size(), 8u);   // all there are
}

// An index may be any of those that its problem draws, and no other.
TEST(Values, IntegersStayInTheirRange) {
  const auto p = parse("  i: i32[N] ~ integers(2, N + 3)\n  w: i4[N] ~ integers(-8, 7)\n", "cast(i, f32) + cast(w, f32)");
  std::set<std::string> names;
  for (const auto& workload : choose_values(p, p.workloads[1], 7, 100)) {
    names.insert(workload.name);
    const auto inputs = problem::make_inputs(p, workload, 3);
    ASSERT_TRUE(inputs) << workload.name;
    for (size_t i = 0; i < 33; ++i) {
      EXPECT_GE((*inputs)[0].at(i), 2) << workload.name;
      EXPECT_LE((*inputs)[0].at(i), 36) << workload.name;
      EXPECT_GE((*inputs)[1].at(i), -8) << workload.name;
    }
  }
  EXPECT_TRUE(names.count("t with i ~ constant(36)"));
  EXPECT_TRUE(names.count("t with i ~ constant(2)"));
  EXPECT_TRUE(names.count("t with w ~ constant(7)"));
}

// NaN is part of a problem where the problem says so, and only in that input.
TEST(Values, SpecialsAreThoseOfTheProblemsWorkloads) {
  const std::string text =
      "problem t: \"t\"\naxes:\n  N >= 1\ninputs:\n  x: f32[N] ~ normal(0, 1)\n  z: f32[N] ~ normal(0, 1)\noutputs:\n  y: f32[N]\n"
      "reference:\n  y = x + z\nworkloads:\n  smallest one: N=1\n  shape odd: N=9\n";
  const auto without = problem::parse_problem(text, "case");
  const auto with = problem::parse_problem(text + "  shape a: N=7, x ~ spikes(1, nan)\n  shape b: N=5, x ~ spikes(1, nan)\n  shape c: N=5, x ~ spikes(1, -inf), z ~ spikes(1, 7)\n", "case");
  ASSERT_TRUE(without && with);
  std::vector<std::string> names;
  for (const auto& workload : choose_values(*with, with->workloads[1], 3, 4)) {
    if (has_specials(workload)) names.push_back(workload.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"odd with x ~ spikes(1, nan)", "odd with x ~ spikes(1, -inf)"}));
  EXPECT_EQ(choose_values(*with, with->workloads[1], 3, 4).size(), 6u);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const auto& workload : choose_values(*without, without->workloads[1], seed, 8)) EXPECT_FALSE(has_specials(workload)) << workload.name;
  }
}

}  // namespace
}  // namespace kw::judge
