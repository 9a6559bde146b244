#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <limits>

namespace kw::tensor {
namespace {

TEST(Tensor, KeepsTheExactBytes) {
  const std::vector<double> values = {1, -2, 0.5, 65504, 1e-8, 3};
  auto tensor = Tensor::from_doubles(DType::kF16, {2, 3}, values);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->bytes().size(), 12u);
  EXPECT_EQ(tensor->bits_at(0), 0x3c00u);
  EXPECT_EQ(tensor->at(3), 65504);
  EXPECT_EQ(tensor->at(4), 0) << "below half the smallest denormal";
  EXPECT_EQ(tensor->description(), "f16[2, 3]");
  auto again = Tensor::from_bytes(DType::kF16, {3, 2}, tensor->bytes());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->to_doubles(), tensor->to_doubles());
}

TEST(Tensor, PacksNarrowElementsFromTheLowBits) {
  const std::vector<double> values = {0.5, 6, -1};
  auto tensor = Tensor::from_doubles(DType::kE2M1, {3}, values);
  ASSERT_TRUE(tensor);
  ASSERT_EQ(tensor->bytes().size(), 2u);
  EXPECT_EQ(std::to_integer<int>(tensor->bytes()[0]), 0x71);
  EXPECT_EQ(std::to_integer<int>(tensor->bytes()[1]), 0x0a);
  EXPECT_EQ(tensor->to_doubles(), values);
  auto six = Tensor::from_doubles(DType::kE2M3, {4}, std::vector<double>{1, -7.5, 0.125, 2});
  ASSERT_TRUE(six);
  EXPECT_EQ(six->bytes().size(), 3u);
  EXPECT_EQ(six->to_doubles(), (std::vector<double>{1, -7.5, 0.125, 2}));
}

TEST(Tensor, EveryDtypeHoldsOne) {
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    auto tensor = Tensor::from_doubles(dtype, {5}, std::vector<double>{1, 1, 1, 1, 1});
    ASSERT_TRUE(tensor) << name_of(dtype);
    EXPECT_EQ(tensor->at(4), 1) << name_of(dtype);
    EXPECT_EQ(static_cast<std::int64_t>(tensor->bytes().size()), byte_count(dtype, 5));
  }
}

TEST(Tensor, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(Tensor::zeros(DType::kF32, {1 << 30, 1 << 30, 1 << 30, 1 << 30}));
  EXPECT_FALSE(Tensor::zeros(DType::kF32, {-1}));
  EXPECT_FALSE(Tensor::zeros(DType::kF32, {1024}, 4095));
  EXPECT_TRUE(Tensor::zeros(DType::kF32, {1024}, 4096));
  EXPECT_FALSE(Tensor::from_doubles(DType::kF32, {2}, std::vector<double>{1}));
  auto empty = Tensor::zeros(DType::kF32, {std::numeric_limits<std::int64_t>::max(), 0, 7});
  ASSERT_TRUE(empty) << "an axis of size 0 makes the tensor empty whatever the others are";
  EXPECT_EQ(empty->size(), 0);
}

TEST(Tensor, NamesElements) {
  EXPECT_EQ(index_text({2, 3, 4}, 23), "[1, 2, 3]");
  EXPECT_EQ(index_text({}, 0), "[]");
}

}  // namespace
}  // namespace kw::tensor
