#include "tensor/error_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kw::tensor {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

ErrorMetrics compared(DType dtype, std::vector<double> got, FreshVector<double> reference,
                      std::optional<Budget> budget = std::nullopt) {
  const Shape shape = {static_cast<std::int64_t>(got.size())};
  auto metrics =
      compare(*Tensor::from_doubles(dtype, shape, got), *Tensor::adopt(shape, std::move(reference)), budget);
  EXPECT_TRUE(metrics);
  return *metrics;
}

TEST(ErrorMetrics, OfFiniteValues) {
  const auto m = compared(DType::kF32, {1, 2, 3.5, 0}, {1, 2.5, 3, 0});
  EXPECT_EQ(m.max_abs, 0.5);
  EXPECT_DOUBLE_EQ(m.max_rel, 0.2);
  EXPECT_DOUBLE_EQ(m.rmse, std::sqrt(0.5 / 4));
  EXPECT_DOUBLE_EQ(m.psnr, 20 * std::log10(3 / m.rmse));
  EXPECT_DOUBLE_EQ(m.cosine, 16.5 / std::sqrt((1 + 4 + 12.25) * (1 + 6.25 + 9)));
  EXPECT_EQ(m.max_ulp, 0.5 / 0x1p-22) << "2.5 and 3 are in [2, 4), where f32 is spaced by 2^-22";
  EXPECT_EQ(m.failing, 0) << "no budget";
  ASSERT_TRUE(m.worst);
  EXPECT_EQ(m.worst->index, 1) << "the first of two equal errors";
}

TEST(ErrorMetrics, BudgetNamesFirstAndWorst) {
  const auto m = compared(DType::kF32, {1.05, 1.2, 1.5, 1}, {1, 1, 1, 1}, Budget{0.05, 0.05});
  EXPECT_EQ(m.failing, 2);
  EXPECT_EQ(m.first->index, 1);
  EXPECT_EQ(m.worst->index, 2);
  EXPECT_NEAR(m.budget_used, 5, 1e-6);
  EXPECT_FALSE(m.passed());
}

TEST(ErrorMetrics, FailingElementsAreThoseThatAreCounted) {
  const Shape shape = {5};
  const std::vector<double> values = {1.05, 1.2, kNan, 1, 1.5};
  const Tensor got = *Tensor::from_doubles(DType::kF32, shape, values);
  const Tensor reference = *Tensor::adopt(shape, {1, 1, 1, 1, 1});
  const Budget budget{0.05, 0.05};
  EXPECT_EQ(*failing_elements(got, reference, budget), (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(compare(got, reference, budget)->failing, 3);
  EXPECT_FALSE(failing_elements(got, *Tensor::adopt({2}, {1, 1}), budget)) << "another number of elements";
}

TEST(ErrorMetrics, ZeroBudgetAsksForEqualNumbers) {
  EXPECT_TRUE(compared(DType::kF16, {0, 2}, {-0.0, 2}, Budget{}).passed());
  const auto m = compared(DType::kF16, {0, 2.001953125}, {0, 2}, Budget{});
  EXPECT_EQ(m.failing, 1);
  EXPECT_EQ(m.budget_used, kInf);
}

TEST(ErrorMetrics, KindsOfNonFiniteValues) {
  const Budget wide{1e30, 1};
  EXPECT_TRUE(compared(DType::kF32, {kNan, kInf, -kInf}, {kNan, kInf, -kInf}, wide).passed());
  EXPECT_EQ(compared(DType::kF32, {0, kNan, -kInf, 1}, {kNan, 1, kInf, kInf}, wide).kind_mismatches, 4);
  // 1e5 overflows f16: infinity is what rounding gives, 65504 what saturation gives, 65472 is neither.
  EXPECT_TRUE(compared(DType::kF16, {kInf, 65504}, {1e5, 1e5}, wide).passed());
  EXPECT_FALSE(compared(DType::kF16, {65472}, {1e5}, wide).passed());
  EXPECT_FALSE(compared(DType::kF16, {-kInf}, {1e5}, wide).passed());
  EXPECT_FALSE(compared(DType::kF16, {-65504}, {1e5}, wide).passed()) << "saturated at the other end";
  EXPECT_TRUE(compared(DType::kF16, {65504}, {65510}, Budget{8, 0}).passed()) << "rounds to 65504";
  const auto mixed = compared(DType::kF32, {kNan, 2}, {1, 2});
  EXPECT_EQ(mixed.compared, 1);
  EXPECT_EQ(mixed.rmse, 0) << "mismatches stay out of averages";
  EXPECT_EQ(mixed.failing, 1) << "and fail even without a budget";
}

TEST(ErrorMetrics, ZerosAgainstSomethingHaveCosineZero) {
  EXPECT_EQ(compared(DType::kF32, {0, 0}, {1, 2}).cosine, 0);
  EXPECT_EQ(compared(DType::kF32, {0, 0}, {0, 0}).cosine, 1);
}

TEST(ErrorMetrics, Spacing) {
  EXPECT_EQ(ulp_at(DType::kF16, 1), 0x1p-10);
  EXPECT_EQ(ulp_at(DType::kF16, 0), 0x1p-24);
  EXPECT_EQ(ulp_at(DType::kBF16, -3), 0x1p-6);
  EXPECT_EQ(ulp_at(DType::kI32, 1e6), 1);
  EXPECT_EQ(unit_roundoff(DType::kF16), 0x1p-11);
  EXPECT_EQ(unit_roundoff(DType::kF32), 0x1p-24);
}

TEST(ErrorMetrics, RefusesAnotherSize) {
  EXPECT_FALSE(compare(*Tensor::zeros(DType::kF32, {3}), *Tensor::adopt({2}, {1, 2})));
  EXPECT_FALSE(compare(*Tensor::adopt({1}, {1}), *Tensor::adopt({2}, {1, 2})));
  EXPECT_FALSE(compare(*Tensor::zeros(DType::kF32, {0}), *Tensor::adopt({2}, {1, 2}))) << "an empty answer";
  EXPECT_FALSE(compare(*Tensor::zeros(DType::kF32, {2}), *Tensor::zeros(DType::kF32, {2})));
}

// Large tensors are compared in pieces; the first of equals, and of the failing, is in an early one.
TEST(ErrorMetrics, PiecesAreOneTensor) {
  const std::size_t count = 400'000;
  std::vector<double> got(count, 1);
  const FreshVector<double> reference(count, 1.0);
  got[70'000] = 2;
  got[200'000] = 2;
  got[390'000] = 0.5;
  got[399'999] = kNan;
  const ErrorMetrics metrics = compared(DType::kF32, got, reference, Budget{0.25, 0});
  EXPECT_EQ(metrics.elements, 400'000);
  EXPECT_EQ(metrics.compared, 399'999);
  EXPECT_EQ(metrics.kind_mismatches, 1);
  EXPECT_EQ(metrics.failing, 4);
  EXPECT_EQ(metrics.first->index, 70'000);
  EXPECT_EQ(metrics.worst->index, 399'999);
  EXPECT_EQ(metrics.max_abs, 1);
  EXPECT_DOUBLE_EQ(metrics.rmse, std::sqrt(2.25 / 399'999));
  got[399'999] = 1;
  EXPECT_EQ(compared(DType::kF32, got, reference, Budget{0.25, 0}).worst->index, 70'000);
}

}  // namespace
}  // namespace kw::tensor
