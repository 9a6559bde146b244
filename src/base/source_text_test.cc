#include "base/source_text.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Wrap, BreaksBetweenWordsOnly) {
  EXPECT_EQ(wrap("aa bb cc", "  ", 7), "  aa bb\n  cc\n");
  EXPECT_EQ(wrap("aa bb cc", "  ", 7, 1), "  aa bb\n   cc\n");
  EXPECT_EQ(wrap("a-long-word b", "", 5), "a-long-word\nb\n");
  EXPECT_EQ(wrap("", "  ", 7), "");
  EXPECT_EQ(wrap("a\x1b[31mb\tc", "", 80), "a [31mb c\n");
}

TEST(Excerpt, MarksTheLineAmongItsNeighbours) {
  EXPECT_EQ(excerpt("one\ntwo\nthree\nfour\nfive\n", 3, ""), "      1 | one\n      2 | two\n>     3 | three\n      4 | four\n");
  EXPECT_EQ(excerpt("one\ntwo", 1, " "), " >     1 | one\n       2 | two\n");
  EXPECT_EQ(excerpt("one\ntwo", 9, ""), "");
  EXPECT_EQ(excerpt("one", 0, ""), "");
  EXPECT_EQ(excerpt("", 1, ""), "");
}

TEST(Excerpt, CutsNoCharacterInTwo) {
  EXPECT_EQ(excerpt("ab\xc3\xa4", 1, "", 13), ">     1 | ab\n");
  EXPECT_EQ(excerpt("ab\xc3\xa4", 1, "", 14), ">     1 | ab\xc3\xa4\n");
}

TEST(TrimmedLine, HasNoBlanksAround) {
  EXPECT_EQ(trimmed_line("one\n\t two; \r\nthree", 2), "two;");
  EXPECT_EQ(trimmed_line("one\n\n", 2), "");
  EXPECT_EQ(trimmed_line("one", 7), "");
}

}  // namespace
}  // namespace kw
