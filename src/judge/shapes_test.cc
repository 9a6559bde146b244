#include "judge/shapes.h"

#include <gtest/gtest.h>

#include <set>

namespace kw::judge {
namespace {

problem::Problem vector_add() {
  auto problem = problem::load_problem(std::string(KW_SOURCE_DIR) + "/problems/vector_add.problem");
  EXPECT_TRUE(problem.has_value()) << (problem ? "" : format_error(problem.error()));
  return *problem;
}

TEST(Shapes, TheSameSeedChoosesTheSameShapes) {
  const auto problem = vector_add();
  const auto a = choose_shapes(problem, 7, 3), b = choose_shapes(problem, 7, 3);
  ASSERT_EQ(a.size(), 3u);
  ASSERT_EQ(b.size(), 3u);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].axes, b[i].axes);
}

TEST(Shapes, AnotherSeedChoosesOthers) {
  const auto problem = vector_add();
  const auto a = choose_shapes(problem, 7, 3), b = choose_shapes(problem, 8, 3);
  ASSERT_EQ(a.size(), b.size());
  bool differ = false;
  for (size_t i = 0; i < a.size(); ++i) differ |= a[i].axes != b[i].axes;
  EXPECT_TRUE(differ);
}

TEST(Shapes, NoneIsTheAuthorsAndAllSatisfyTheConstraints) {
  const auto problem = vector_add();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const auto& chosen : choose_shapes(problem, seed, 4)) {
      EXPECT_TRUE(problem::check_workload(problem, chosen).has_value());
      for (const auto& own : problem.workloads) EXPECT_NE(own.axes, chosen.axes);
    }
  }
}

TEST(Shapes, LengthsOfRealWorkloadsAloneAreSeen) {
  const auto problem = problem::load_problem(std::string(KW_SOURCE_DIR) + "/problems/attention_causal.problem");
  ASSERT_TRUE(problem.has_value());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::set<int64_t> heads, batches;
    for (const auto& shorter : shortened_workloads(*problem, seed, kMostShortened)) {
      EXPECT_TRUE(problem::check_workload(*problem, shorter).has_value());
      const auto cost = problem::cost_of(*problem, shorter);
      ASSERT_TRUE(cost.has_value());
      EXPECT_LE(cost->operations, kMaxShortenedOperations);
      EXPECT_LT(shorter.axes.at("S"), 1024) << "as many steps as the real one";
      heads.insert(shorter.axes.at("H"));
      batches.insert(shorter.axes.at("B"));
    }
    EXPECT_TRUE(heads.contains(12) && heads.contains(32)) << seed;
    EXPECT_TRUE(batches.contains(8)) << seed;
  }
}

TEST(Shapes, NoneIsShortenedWhereNoLengthWouldBeKept) {
  EXPECT_TRUE(shortened_workloads(vector_add(), 1, kMostShortened).empty());
}

}  // namespace
}  // namespace kw::judge
