#include "judge/shapes.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kw::judge
