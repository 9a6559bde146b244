#include "base/near_miss.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kw {
namespace {

constexpr unsigned kAny = 1000;

TEST(NearMiss, CostOfEachEdit) {
  struct Case { const char *a, *b; unsigned cost; };
  constexpr Case kCases[] = {
      {"", "", 0},           {"add", "add", 0},     {"", "ab", 4},         {"adt", "add", 2},
      {"ad", "add", 2},      {"addd", "add", 2},    {"dad", "add", 2},     {"Add", "add", 1},
      {"ADD", "add", 3},     {"kitten", "sitting", 6}, {"softmax", "sfotmaxx", 4}, {"ca", "abc", 6},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(edit_cost(c.a, c.b, kAny), c.cost) << c.a << " to " << c.b;
    EXPECT_EQ(edit_cost(c.b, c.a, kAny), c.cost) << c.b << " to " << c.a;
  }
}

// The definition, by recursion.
unsigned slowly(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return static_cast<unsigned>(2 * (a.size() + b.size()));
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const char x = a.back(), y = b.back();
  const std::string_view a1 = a.substr(0, a.size() - 1), b1 = b.substr(0, b.size() - 1);
  unsigned least = std::min({slowly(a1, b) + 2, slowly(a, b1) + 2, slowly(a1, b1) + (x == y ? 0 : lower(x) == lower(y) ? 1 : 2)});
  if (!a1.empty() && !b1.empty() && x == b1.back() && a1.back() == y)
    least = std::min(least, slowly(a1.substr(0, a1.size() - 1), b1.substr(0, b1.size() - 1)) + 2);
  return least;
}

TEST(NearMiss, CostOfAllShortWords) {
  std::vector<std::string> words = {""};
  for (size_t from = 0, length = 0; length < 4; ++length) {
    const size_t end = words.size();
    for (; from < end; ++from)
      for (const char c : {'a', 'b', 'A'}) words.push_back(words[from] + c);
  }
  ASSERT_EQ(words.size(), 121u);
  for (const std::string& a : words)
    for (const std::string& b : words) {
      const unsigned cost = slowly(a, b);
      ASSERT_EQ(edit_cost(a, b, kAny), cost) << a << " to " << b;
      for (unsigned at_most = 0; at_most < 8; ++at_most) {
        const unsigned bounded = edit_cost(a, b, at_most);
        ASSERT_TRUE(cost <= at_most ? bounded == cost : bounded > at_most) << a << " to " << b << " by " << at_most;
      }
    }
}

TEST(NearMiss, OnlySlipsHaveAHint) {
  const std::vector<std::string> known = {"x", "M", "axes", "inputs", "softmax", "sotfmax"};
  EXPECT_EQ(nearest("softmx", known), "softmax");
  EXPECT_EQ(nearest("sotfmx", known), "sotfmax");
  EXPECT_EQ(nearest("m", known), "M");
  EXPECT_EQ(nearest("axs", known), "axes");
  EXPECT_EQ(nearest("softmax", known), "sotfmax");   // the name itself is no hint
  EXPECT_EQ(nearest("inpt", known), "");             // two edits of four letters
  EXPECT_EQ(nearest("y", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest("softmax", {}), "");
  EXPECT_EQ(nearest(std::string(65, 'a'), {std::string(64, 'a')}), "");
}

}  // namespace
}  // namespace kw
