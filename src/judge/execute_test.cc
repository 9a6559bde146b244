#include "judge/execute.h"

#include <gtest/gtest.h>

namespace kw::judge {
namespace {

// A whole attribute binds to int, int64_t, float and double parameters: it is sent as an integer.
TEST(Arguments, WholeAttributesAreIntegers) {
  const auto problem = problem::parse_problem(
      "problem t: \"t\"\naxes:\n  N >= 1\nattributes:\n  step = 10\n  eps = 1e-5\ninputs:\n  x: f32[N]\noutputs:\n  y: f32[N]\n"
      "reference:\n  y = x * step + eps\nworkloads:\n  smallest one: N=1\n  shape odd: N=3\n",
      "case");
  ASSERT_TRUE(problem) << format_error(problem.error());
  const toolchain::Workload made = arguments_of(*problem, problem->workloads.front());
  int found = 0;
  for (const toolchain::Argument& argument : made.arguments) {
    if (argument.name == "step") {
      ++found;
      EXPECT_EQ(argument.kind, toolchain::Argument::Kind::kInteger);
      EXPECT_EQ(argument.integer, 10);
    }
    if (argument.name == "eps") {
      ++found;
      EXPECT_EQ(argument.kind, toolchain::Argument::Kind::kReal);
      EXPECT_EQ(argument.real, 1e-5);
    }
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace kw::judge
