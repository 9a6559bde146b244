#include "agent/line_diff.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace kw::agent {
namespace {

TEST(LineDiff, ShowsChangesAndWhatIsAroundThem) {
  EXPECT_EQ(line_diff("a\nb\nc\n", "a\nb\nc\n"), "");
  EXPECT_EQ(line_diff("", "new\n"), "@@ 1\n+new\n");
  EXPECT_EQ(line_diff("old\n", ""), "@@ 1\n-old\n");
  EXPECT_EQ(line_diff("a\nb\nc\nd\ne\nf\ng\nh\n", "a\nb\nc\nD\ne\nf\ng\nh\n", 1), "@@ 3\n c\n-d\n+D\n e\n");
  EXPECT_EQ(line_diff("1\n2\n3\n4\n5\n6\n", "2\n3\n4\n5\n6\n7\n", 0), "@@ 1\n-1\n@@ 7\n+7\n");
}

// Applied to the one text it gives the other, and no shorter list of changes does.
TEST(LineDiff, IsTrueAndShortest) {
  Rng rng(3);
  for (int round = 0; round < 500; ++round) {
    const auto text = [&] {
      std::vector<std::string> lines;
      for (uint64_t n = rng.below(12); n > 0; --n) lines.push_back(std::string(1, static_cast<char>('a' + rng.below(3))));
      return lines;
    };
    const std::vector<std::string> a = text(), b = text();
    std::string before, after, kept, made;
    for (const auto& line : a) before += line + "\n";
    for (const auto& line : b) after += line + "\n";
    const std::string diff = line_diff(before, after, 100);
    size_t changes = 0;
    for (size_t at = 0; at < diff.size();) {
      const size_t end = diff.find('\n', at);
      const std::string line = diff.substr(at + 1, end - at);
      if (diff[at] != '@') {
        if (diff[at] != '+') kept += line;
        if (diff[at] != '-') made += line;
        changes += diff[at] == ' ' ? 0 : 1;
      }
      at = end + 1;
    }
    std::vector<std::vector<size_t>> common(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
    for (size_t i = a.size(); i-- > 0;)
      for (size_t j = b.size(); j-- > 0;) common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    EXPECT_EQ(changes, a.size() + b.size() - 2 * common[0][0]) << before << "--\n" << after;
    if (before == after) continue;
    EXPECT_EQ(kept, before);
    EXPECT_EQ(made, after);
  }
}

}  // namespace
}  // namespace kw::agent
