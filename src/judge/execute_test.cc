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

class Compare : public testing::Test {
 protected:
  void SetUp() override {
    auto problem = problem::parse_problem(
        "problem t: \"t\"\naxes:\n  N >= 1\ninputs:\n  x: i32[N] ~ integers(-3, 3)\noutputs:\n  u: i32[N]\n  v: i32[N]\n  w: i32[N]\n"
        "reference:\n  u = x\n  v = -x\n  w = 2 * x\nworkloads:\n  smallest one: N=40\n",
        "case");
    ASSERT_TRUE(problem) << format_error(problem.error());
    problem_ = *problem;
    case_.workload = problem_.workloads[0];
    ASSERT_TRUE(prepare(problem_, case_, 3, 1));
    for (const auto& output : case_.reference.outputs) {
      right_.outputs.push_back(*tensor::Tensor::from_doubles(tensor::DType::kI32, output.shape(), output.f64()));
      right_.unwritten.emplace_back();
    }
  }
  std::optional<Wrong> wrong(const Execution& execution) {
    std::vector<Correct::Output> metrics;
    auto compared = compare(problem_, case_, execution, metrics);
    EXPECT_TRUE(compared);
    EXPECT_EQ(metrics.size(), 3u);
    return *compared;
  }
  problem::Problem problem_;
  Case case_;
  Execution right_;
};

TEST_F(Compare, EveryOutputCounts) {
  EXPECT_FALSE(wrong(right_));
  for (size_t i = 0; i < 3; ++i) {
    Execution broken = right_;
    broken.outputs[i].set(39, broken.outputs[i].at(39) + 1);
    const auto found = wrong(broken);
    ASSERT_TRUE(found) << i;
    EXPECT_EQ(found->output, problem_.outputs[i].name);
    EXPECT_EQ(found->index, std::vector<int64_t>{39});
    EXPECT_EQ(found->got, found->expected + 1);
    EXPECT_FALSE(found->unwritten);
  }
}

TEST_F(Compare, TheFirstOutputThatIsWrongIsNamed) {
  Execution broken = right_;
  broken.outputs[1].set(2, 77);
  broken.outputs[2].set(0, 77);
  EXPECT_EQ(wrong(broken)->output, "v");
}

TEST_F(Compare, WhatNobodyWroteIsWrongWhateverItHolds) {
  for (size_t i = 0; i < 3; ++i) {
    Execution partial = right_;
    partial.unwritten[i] = 7;
    const auto found = wrong(partial);
    ASSERT_TRUE(found) << i;
    EXPECT_EQ(found->output, problem_.outputs[i].name);
    EXPECT_TRUE(found->unwritten);
    EXPECT_EQ(found->index, std::vector<int64_t>{7});
    EXPECT_EQ(found->got, found->expected);
  }
}

}  // namespace
}  // namespace kw::judge
