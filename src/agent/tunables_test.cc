#include "agent/tunables.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace kw::agent {
namespace {

constexpr char kSource[] =
    "// A kernel. To tune: nothing here.\n"
    "constexpr int kThreads = 256;  // tune: 64 128 256 512\n"
    "  constexpr bool kWide=true ; // tune: true false\n"
    "  // constexpr int kGone = 3;  // tune: 3 4\n"
    "constexpr int kFixed = 3;\n";

TEST(Tunables, AreFoundWithTheirValues) {
  const auto found = find_tunables(kSource, "k.cu");
  ASSERT_TRUE(found) << format_error(found.error());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].name, "kThreads");
  EXPECT_EQ((*found)[0].line, 2u);
  EXPECT_EQ((*found)[0].values, (std::vector<std::string>{"64", "128", "256", "512"}));
  EXPECT_EQ((*found)[0].chosen, 2u);
  EXPECT_EQ((*found)[1].name, "kWide");
}

TEST(Tunables, AnotherValueChangesItsPlaceOnly) {
  const auto found = find_tunables(kSource, "k.cu");
  ASSERT_TRUE(found);
  const std::string other = with_value(with_value(kSource, (*found)[1], 1), (*found)[0], 0);
  EXPECT_NE(other.find("kThreads = 64;  // tune: 64 128"), std::string::npos) << other;
  EXPECT_NE(other.find("kWide=false ;"), std::string::npos) << other;
  const auto again = find_tunables(other, "k.cu");
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)[0].chosen, 0u);
  EXPECT_EQ(with_value(with_value(other, (*again)[1], 0), (*again)[0], 2), kSource);
}

TEST(Tunables, ErrorsNameTheLineAndTheForm) {
  for (const auto& [line, complaint] : {std::pair{"constexpr int k = 3; // tune: 1 2", "k is 3, which is not among"},
                                        {"constexpr int k = 1; // tune: 1", "one value only"},
                                        {"constexpr int k = 1; // tune: 1 1 2", "twice"},
                                        {"constexpr int k = 1; // tune: 1 2;3", "neither a number nor a name"},
                                        {"int k = 1; // tune: 1 2", "no tunable"},
                                        {"constexpr int k = f(1); // tune: 1 2", "no tunable"},
                                        {"constexpr int k = 1 + 1; // tune: 1 2", "no tunable"},
                                        {"constexpr int k = 1; int j; // tune: 1 2", "no tunable"},
                                        {"; // tune: 1 2", "no tunable"}}) {
    const auto found = find_tunables(std::string("\n") + line + "\n", "k.cu");
    ASSERT_FALSE(found) << line;
    const std::string said = format_error(found.error());
    EXPECT_NE(said.find("k.cu:2"), std::string::npos) << said;
    EXPECT_NE(said.find(complaint), std::string::npos) << said;
    EXPECT_NE(said.find("a tunable is one line"), std::string::npos) << said;
  }
  EXPECT_FALSE(find_tunables("constexpr int k = 1; // tune: 1 2\nconstexpr int k = 1; // tune: 1 2\n", "k.cu"));
}

// Whatever the bytes: tunables or an error.
TEST(Tunables, AnyTextIsRead) {
  Rng rng(7);
  const std::string_view pieces[] = {"constexpr", " ", "int", "=", ";", "// tune:", "\n", "k", "1", "2", std::string_view("\0", 1), "\xff"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t n = rng.below(20); n > 0; --n) text += pieces[rng.below(std::size(pieces))];
    const auto found = find_tunables(text, "x");
    if (!found) continue;
    for (const Tunable& tunable : *found) EXPECT_EQ(with_value(text, tunable, tunable.chosen), text);
  }
}

}  // namespace
}  // namespace kw::agent
