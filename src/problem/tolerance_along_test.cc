// Tolerance of what follows an index, an order or a line: honest kernels of another order pass, careless ones do not,
// and what only picks is exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "problem/inputs.h"
#include "problem/tolerance.h"

namespace kw::problem {
namespace {

struct Prepared {
  Problem problem;
  std::vector<tensor::Tensor> inputs;
  Evaluation reference;
  Tolerance tolerance;
  const tensor::Budget& budget() const { return tolerance.outputs[0].budget; }
  // The share of the budget that these values use; above 1 they fail.
  double used(const std::vector<double>& values) const {
    const auto got = tensor::Tensor::from_doubles(DType::kF32, reference.outputs[0].shape(), values);
    return compare_output(problem, problem.workloads[0], 0, *got, reference, tolerance)->budget_used;
  }
};

Prepared prepare(std::string_view inputs, std::string_view output, std::string_view reference) {
  const std::string text = fmt::format(
      "problem t: \"t\"\ninputs:\n{}outputs:\n  y: {}\nreference:\n{}workloads:\n  smallest s:\n", inputs, output,
      reference);
  auto problem = parse_problem(text, "t");
  EXPECT_TRUE(problem) << format_error(problem.error());
  Prepared made{std::move(*problem), {}, {}, {}};
  const Workload& workload = made.problem.workloads[0];
  made.inputs = *make_inputs(made.problem, workload, 11);
  made.reference = *evaluate(made.problem, workload, made.inputs);
  made.tolerance = *derive_tolerance(made.problem, workload, made.inputs, &made.reference);
  return made;
}

float narrow(double x, bool half) {  // bf16 or fp32
  return half ? tensor::bf16_to_f32(tensor::f32_to_bf16(static_cast<float>(x))) : static_cast<float>(x);
}

TEST(ToleranceAlong, ScatterAddInAnyOrder) {
  constexpr std::size_t kUpdates = 20000, kBins = 64;
  const Prepared p = prepare("  i: i32[20000] ~ integers(0, 63)\n  u: f32[20000] ~ normal(0.5, 1)\n", "f32[64]",
                             "  y = bincount(i, 64, weights=u)\n");
  const auto at = p.inputs[0].to_doubles(), update = p.inputs[1].to_doubles();
  const auto sum = [&](bool backward, bool half, std::size_t parts, std::size_t skipped) {
    std::vector<float> total(kBins, 0);
    for (std::size_t part = 0; part < parts; ++part) {  // each part in its own bins, as blocks of threads do
      std::vector<float> own(kBins, 0);
      for (std::size_t k = part * kUpdates / parts; k < (part + 1) * kUpdates / parts; ++k) {
        const std::size_t i = backward ? kUpdates - 1 - k : k;
        if (i == skipped) continue;
        float& bin = own[static_cast<std::size_t>(at[i])];
        bin = narrow(bin + static_cast<float>(update[i]), half);
      }
      for (std::size_t bin = 0; bin < kBins; ++bin) total[bin] = narrow(total[bin] + own[bin], half);
    }
    return std::vector<double>(total.begin(), total.end());
  };
  EXPECT_LT(p.used(sum(false, false, 1, kUpdates)), 0.8);
  EXPECT_LT(p.used(sum(true, false, 1, kUpdates)), 0.8);
  EXPECT_LT(p.used(sum(true, false, 32, kUpdates)), 0.8);
  EXPECT_GT(p.used(sum(false, true, 32, kUpdates)), 1);
  const auto large = static_cast<std::size_t>(std::max_element(update.begin(), update.end()) - update.begin());
  EXPECT_GT(p.used(sum(false, false, 32, large)), 1);  // one update lost
}

TEST(ToleranceAlong, ScanStepByStepAndInPieces) {
  constexpr std::size_t kRows = 32, kSteps = 1024;
  const Prepared p = prepare("  a: f32[32, 1024] ~ uniform(0.9, 1)\n  b: f32[32, 1024] ~ normal(0, 1)\n",
                             "f32[32, 1024]", "  y = scan(a, b)\n");
  const auto a = p.inputs[0].to_doubles(), b = p.inputs[1].to_doubles();
  const auto run = [&](std::size_t piece, bool half, bool carried) {
    std::vector<double> y(kRows * kSteps);
    for (std::size_t row = 0; row < kRows; ++row) {
      float before = 0;  // the state at the end of the piece before
      for (std::size_t first = 0; first < kSteps; first += piece) {
        float product = 1, h = 0;  // of the piece alone
        for (std::size_t k = row * kSteps + first; k < row * kSteps + first + piece; ++k) {
          product = narrow(product * static_cast<float>(a[k]), half);
          h = narrow(std::fma(static_cast<float>(a[k]), h, static_cast<float>(b[k])), half);
          y[k] = narrow(std::fma(product, before, h), half);
        }
        if (carried) before = static_cast<float>(y[row * kSteps + first + piece - 1]);
      }
    }
    return y;
  };
  EXPECT_LT(p.used(run(1, false, true)), 0.8);
  EXPECT_LT(p.used(run(32, false, true)), 0.8);
  EXPECT_LT(p.used(run(kSteps, false, true)), 0.8);
  EXPECT_GT(p.used(run(32, true, true)), 1);
  EXPECT_GT(p.used(run(32, false, false)), 1);  // pieces that do not hand on their state
}

TEST(ToleranceAlong, ProductsGrowWithTheirFactors) {
  constexpr std::size_t kSteps = 512;
  const Prepared p = prepare("  x: f32[8, 512] ~ uniform(0.98, 1.02)\n", "f32[8, 512]", "  y = cumprod(x)\n");
  const auto x = p.inputs[0].to_doubles();
  const auto run = [&](bool half) {
    std::vector<double> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      y[i] = narrow(i % kSteps == 0 ? x[i] : static_cast<float>(y[i - 1]) * static_cast<float>(x[i]), half);
    return y;
  };
  EXPECT_LT(p.used(run(false)), 0.8);
  EXPECT_GT(p.used(run(true)), 1);
}

TEST(ToleranceAlong, WhatOnlyPicksIsExact) {
  const std::string_view input = "  x: f32[16, 64] ~ normal(0, 1)\n";
  for (const char* statement :
       {"y = sort(x)", "y = topk(x, 64)", "y = gather(x, argsort(x))", "y = cummax(x)", "y = scatter(x, argsort(x), x)",
        "y = scatter_max(x, argsort(x), x)",
        "y = where(reshape(curand_uniform(philox(7, arange(256), 0)), [16, 64]) <= 0.9, x, 0)"}) {
    const Prepared p = prepare(input, "f32[16, 64]", fmt::format("  {}\n", statement));
    EXPECT_TRUE(p.tolerance.outputs[0].exact) << statement;
    EXPECT_EQ(p.budget().atol, 0) << statement;
  }
  EXPECT_FALSE(prepare(input, "f32[16, 64]", "  y = scatter_add(x, argsort(x), x)\n").tolerance.outputs[0].exact);
}

// Places in a sorted order are integers: exact where the order is, and where honest evaluations disagree about near
// ties the budget says so, as it does for argmax.
TEST(ToleranceAlong, PlacesOfNearTies) {
  const std::string_view input = "  x: f32[4096] ~ uniform(1, 2)\n";
  EXPECT_TRUE(prepare(input, "i32[4096]", "  y = argsort(x)\n").tolerance.outputs[0].exact);
  EXPECT_TRUE(prepare(input, "i32[4096]", "  y = argsort(-x)\n").tolerance.outputs[0].exact);
  EXPECT_GT(prepare(input, "i32[4096]", "  y = argsort(exp(x * 0.001))\n").budget().atol, 0);
}

}  // namespace
}  // namespace kw::problem
