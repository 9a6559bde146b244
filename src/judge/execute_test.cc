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
  const toolchain::Workload made = toolchain::arguments_of(*problem, problem->workloads.front());
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

// Row sums that an output is built on: y = x / total.
class Pieces : public testing::Test {
 protected:
  void SetUp() override {
    auto parsed = problem::parse_problem(
        "problem t: \"t\"\naxes:\n  M >= 1\n  N >= 1\ninputs:\n  x: f32[M, N] ~ uniform(1, 2)\noutputs:\n  y: f32[M, N]\nreference:\n"
        "  top = max(x, axis=-1, keepdims=true)\n  total = sum(x, axis=-1, keepdims=true)\n  y = (x - top) / total\n"
        "pieces:\n  total: f32[M, 1]\n  top: f32[M, 1]\nworkloads:\n  smallest one: M=3, N=4\n",
        "case");
    ASSERT_TRUE(parsed) << format_error(parsed.error());
    problem_ = *parsed;
  }

  // What a kernel gives that adds `error` to the first of each.
  Comparison compare_with(double output_error, double top_error, double total_error) {
    const problem::Problem asked = problem::asking_for(problem_, [](const auto&) { return true; });
    Case c{asked.workloads[0], {}, {}, false, {}, {}, {}};
    EXPECT_TRUE(prepare(asked, c, 1, 1));
    Execution execution;
    for (size_t i = 0; i < asked.outputs.size(); ++i) {
      std::vector<double> values = c.reference.outputs[i].to_doubles();
      const std::string& name = asked.outputs[i].name;
      values[0] += name == "y" ? output_error : name == "top" ? top_error : total_error;
      execution.outputs.push_back(*tensor::Tensor::from_doubles(tensor::DType::kF32, c.reference.outputs[i].shape(), values));
      execution.unwritten.emplace_back();
    }
    std::vector<Correct::Output> metrics;
    auto comparison = compare(asked, c, execution, metrics);
    EXPECT_TRUE(comparison);
    EXPECT_EQ(metrics.size(), 3u);
    return *comparison;
  }
  problem::Problem problem_;
};

TEST_F(Pieces, AreAskedForInTheOrderOfTheReference) {
  const problem::Problem asked = problem::asking_for(problem_, [](const auto& piece) { return piece.name == "total"; });
  ASSERT_EQ(asked.outputs.size(), 2u);
  EXPECT_EQ(asked.outputs[1].name, "total");
  EXPECT_TRUE(asked.outputs[1].piece);
  EXPECT_TRUE(asked.pieces.empty());
  EXPECT_EQ(problem_.pieces[0].name, "top") << "as assigned, not as listed";
  int offered = 0;
  for (const auto& argument : toolchain::arguments_of(problem_, problem_.workloads[0]).arguments) {
    if (argument.kind != toolchain::Argument::Kind::kPiece) continue;
    ++offered;
    EXPECT_EQ(argument.shape, (std::vector<int64_t>{3, 1}));
  }
  EXPECT_EQ(offered, 2);
}

TEST_F(Pieces, AWrongOutputNamesTheFirstPieceThatIsOff) {
  EXPECT_FALSE(compare_with(0, 0, 0).output || compare_with(0, 0, 0).piece);
  EXPECT_FALSE(compare_with(1, 0, 0).output->first_wrong_piece);
  EXPECT_EQ(compare_with(1, 1, 1).output->first_wrong_piece->tensor, "top");
  EXPECT_EQ(compare_with(1, 0, 1).output->first_wrong_piece->tensor, "total");
  const Comparison only_piece = compare_with(0, 0, 1);
  EXPECT_FALSE(only_piece.output);
  ASSERT_TRUE(only_piece.piece);
  EXPECT_EQ(only_piece.piece->first.tensor, "total");
  EXPECT_EQ(only_piece.piece->first.index, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(only_piece.piece->pattern, "this element alone");
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
    return compared->output;
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
    EXPECT_EQ(found->first.tensor, problem_.outputs[i].name);
    EXPECT_EQ(found->first.index, std::vector<int64_t>{39});
    EXPECT_EQ(found->first.got, found->first.expected + 1);
    EXPECT_FALSE(found->first.unwritten);
  }
}

TEST_F(Compare, TheFirstOutputThatIsWrongIsNamed) {
  Execution broken = right_;
  broken.outputs[1].set(2, 77);
  broken.outputs[2].set(0, 77);
  EXPECT_EQ(wrong(broken)->first.tensor, "v");
}

TEST_F(Compare, WhatNobodyWroteIsWrongWhateverItHolds) {
  for (size_t i = 0; i < 3; ++i) {
    Execution partial = right_;
    partial.unwritten[i] = 7;
    const auto found = wrong(partial);
    ASSERT_TRUE(found) << i;
    EXPECT_EQ(found->first.tensor, problem_.outputs[i].name);
    EXPECT_TRUE(found->first.unwritten);
    EXPECT_EQ(found->first.index, std::vector<int64_t>{7});
    EXPECT_EQ(found->first.got, found->first.expected);
  }
}

}  // namespace
}  // namespace kw::judge
