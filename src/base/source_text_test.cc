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

TEST(PrintableText, KeepsTextAndReplacesWhatIsNone) {
  EXPECT_EQ(printable_text("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(printable_text("\x1b[31m\r\x7f"), "?[31m??");
  EXPECT_EQ(printable_text("\xc3\xa4\xe2\x80\xa6\xf0\x9f\x98\x80"), "\xc3\xa4\xe2\x80\xa6\xf0\x9f\x98\x80");
  EXPECT_EQ(printable_text("\xff\xc3"), "??");                    // no lead byte; nothing follows
  EXPECT_EQ(printable_text("\xc0\x80\xe0\x80\x80"), "?????");    // longer than needed
  EXPECT_EQ(printable_text("\xed\xa0\x80"), "???");              // a surrogate
  EXPECT_EQ(printable_text("\xf4\x90\x80\x80"), "????");         // beyond the last code point
  EXPECT_EQ(printable_text("\xc2\x85"), "??");                    // a control character of two bytes
}

TEST(OneLine, IsNeverWider) {
  EXPECT_EQ(one_line("short"), "short");
  EXPECT_EQ(one_line("two\nlines\tand \x1b[2J"), "two lines and ?[2J");
  EXPECT_EQ(one_line("12345", 5), "12345");
  EXPECT_EQ(one_line("123456", 5), "12...");
  EXPECT_EQ(one_line("123456", 2), "12");
  EXPECT_EQ(one_line("123456", 0), "");
  EXPECT_EQ(one_line("\xc3\xa4\xc3\xb6\xc3\xbc", 3), "\xc3\xa4\xc3\xb6\xc3\xbc");
  EXPECT_EQ(one_line("\xe6\xbc\xa2\xe5\xad\x97", 4), "\xe6\xbc\xa2\xe5\xad\x97") << "two columns each";
  EXPECT_EQ(one_line("\xe6\xbc\xa2\xe5\xad\x97\xe5\xad\x97", 5), "\xe6\xbc\xa2...");
  EXPECT_EQ(one_line("a\xe2\x80\xae" "b\xe2\x81\xa6\xe2\x80\xa9"), "a?b? ");
  EXPECT_EQ(one_line("\xf0\x9f\x98\x80\xff", 3), "\xf0\x9f\x98\x80?");
}

}  // namespace
}  // namespace kw
