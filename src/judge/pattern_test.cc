#include "judge/pattern.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "judge/execute.h"

namespace kw::judge {
namespace {

using Index = std::vector<int64_t>;

std::string pattern(const tensor::Shape& shape, const std::function<bool(const Index&)>& is_wrong) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  std::vector<int64_t> wrong;
  for (int64_t flat = 0; flat < elements; ++flat) {
    if (is_wrong(unflatten(shape, flat))) wrong.push_back(flat);
  }
  return pattern_of(shape, wrong);
}

TEST(Pattern, OfALine) {
  EXPECT_EQ(pattern({9}, [](const Index&) { return false; }), "");
  EXPECT_EQ(pattern({9}, [](const Index&) { return true; }), "the whole output");
  EXPECT_EQ(pattern({1}, [](const Index&) { return true; }), "the only element");
  EXPECT_EQ(pattern({9}, [](const Index& i) { return i[0] == 4; }), "this element alone");
  EXPECT_EQ(pattern({9}, [](const Index& i) { return i[0] >= 7; }), "the last 2 elements");
  EXPECT_EQ(pattern({9}, [](const Index& i) { return i[0] < 3; }), "the first 3 elements");
  EXPECT_EQ(pattern({9}, [](const Index& i) { return i[0] % 4 == 1; }), "elements 1, 5") << "two make no rule";
  EXPECT_EQ(pattern({13}, [](const Index& i) { return i[0] % 4 == 1; }), "elements 1, 5, 9, …");
  EXPECT_EQ(pattern({99}, [](const Index& i) { return i[0] % 4 == 1 && i[0] < 40; }), "scattered from element 1 to 37") << "the rule ends early";
}

TEST(Pattern, OfRowsAndColumns) {
  EXPECT_EQ(pattern({4, 6}, [](const Index& i) { return i[1] == 5; }), "the last column of every row");
  EXPECT_EQ(pattern({4, 6}, [](const Index& i) { return i[1] >= 3; }), "the last 3 columns of every row");
  EXPECT_EQ(pattern({4, 6}, [](const Index& i) { return i[0] == 2; }), "row 2, whole");
  EXPECT_EQ(pattern({4, 6}, [](const Index& i) { return i[0] == 1 || i[0] == 2; }), "rows 1 to 2, whole");
  EXPECT_EQ(pattern({4, 6}, [](const Index& i) { return i[0] == 1 && i[1] < 2; }), "the first 2 columns of row 1");
  EXPECT_EQ(pattern({4, 6}, [](const Index& i) { return i[0] * 6 + i[1] >= 9; }), "every element from [1, 3] on");
  EXPECT_EQ(pattern({4, 6}, [](const Index& i) { return i[0] * 6 + i[1] <= 9; }), "every element up to [1, 3]");
  EXPECT_EQ(pattern({4, 4}, [](const Index& i) { return i[0] == i[1]; }), "scattered over the whole output");
  EXPECT_EQ(pattern({4, 6}, [](const Index& i) { return i[0] >= 2 && i[1] == i[0] + 1; }),
            "scattered within columns 3 to 4 of the last 2 rows");
}

TEST(Pattern, OfMoreAxes) {
  EXPECT_EQ(pattern({2, 3, 4}, [](const Index& i) { return i[2] == 3; }), "the last index of axis 2, whole along the other axes");
  EXPECT_EQ(pattern({2, 3, 4}, [](const Index& i) { return i[0] == 0 && i[1] >= 1; }),
            "the last 2 indexes of axis 1, index 0 of axis 0, whole along the other axes");
}

}  // namespace
}  // namespace kw::judge
