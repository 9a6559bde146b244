#include "codesearch/sections.h"

#include <gtest/gtest.h>

namespace kw::codesearch {
namespace {

std::string outline(std::string_view text, Language language) {
  std::string out;
  for (const Section& section : sections_of(text, scan(text, language), language))
    out += std::to_string(section.from) + "-" + std::to_string(section.to) + " " + section.name + "\n";
  return out;
}

std::string lines(int count, const std::string& line) {
  std::string out;
  for (int i = 0; i < count; ++i) out += line + "\n";
  return out;
}

TEST(Sections, ADefinitionWithTheCommentBeforeIt) {
  const std::string text = "namespace a {\n\n// Adds.\ntemplate <typename T>\n__global__ void __launch_bounds__(256) add(T* x) {\n" + lines(8, "  x[0] += 1;") +
                           "}\n\nstruct alignas(16) Pack final : Base {\n" + lines(8, "  int a;") + "};\n\n}  // namespace a\n";
  EXPECT_EQ(outline(text, Language::kC), "3-14 add\n16-25 Pack\n");
}

TEST(Sections, ShortDefinitionsStandTogether) {
  EXPECT_EQ(outline("constexpr int kA = 1;\nusing T = float;\n\n#define KW_X(a) \\\n  a\n\nint f(int x);\n", Language::kC), "1-7 kA, T, KW_X, f\n");
}

TEST(Sections, BracesInCommentsLiteralsAndBothSidesOfAnIfDoNotCount) {
  const std::string body = lines(9, "  g();");
  const std::string text = "void a() {  // {{{\n  /* { */ char c = '{'; const char* s = \"{\\\"{\"; auto r = R\"x({\"{)x\"; int n = 1'000;\n" + body +
                           "}\n\nvoid b() {\n#if X\n  if (x) {\n#else\n  if (y) {\n#endif\n" + body + "  }\n}\nvoid c() {\n" + body + "}\n";
  EXPECT_EQ(outline(text, Language::kC), "1-12 a\n14-30 b\n31-41 c\n");
}

TEST(Sections, ABraceTooManyDoesNotHideTheRest) {
  EXPECT_EQ(outline("void a() {{\n" + lines(9, "  g();") + "}\n\nvoid b() {\n" + lines(9, "  g();") + "}\n", Language::kC), "1-11 a\n13-23 b\n");
}

TEST(Sections, CopyrightIsLeftOut) {
  EXPECT_EQ(outline("/***\n * Copyright (c) somebody\n * All rights\n **/\n/*! what it is */\nint a;\n", Language::kC), "5-6 a\n");
  EXPECT_EQ(outline("# Copyright somebody\n# more\n\ndef f():\n  pass\n", Language::kPython), "4-5 f\n");
}

TEST(Sections, LongOnesAreCutWhereTheyAreNestedLeast) {
  const std::string text = "struct S {\n  void a() {\n" + lines(40, "    g();") + "  }\n  void b() {\n" + lines(40, "    g();") + "  }\n};\n";
  EXPECT_EQ(outline(text, Language::kC), "1-43 S\n44-86 S\n");
  for (const Section& section : sections_of(text, scan(text, Language::kC), Language::kC)) EXPECT_LE(section.to - section.from + 1, kMostSectionLines);
}

TEST(Sections, Python) {
  EXPECT_EQ(outline("\"\"\"What it is.\n\ndef no(): pass\n\"\"\"\nimport os\n\n\n# Adds.\n@cached\ndef add(\n    a,\n):\n" + lines(8, "  a += 1") + "\nclass C:\n" + lines(8, "  x = '#'"),
                    Language::kPython),
            "1-5 \n8-20 add\n22-30 C\n");
}

TEST(Sections, MarkdownByHeadings) {
  EXPECT_EQ(outline("# Title\ntext\n\n## Part\n```\n# no heading\n```\n\n## Other\n### Below\nx\n# Next\n", Language::kMarkdown),
            "1-2 Title\n4-7 Title > Part\n9-9 Title > Other\n10-11 Title > Other > Below\n12-12 Next\n");
}

// Every line that is neither blank nor left out is in exactly one section, none is too long, runs cover the text.
TEST(Sections, AnyBytesGiveSomeAnswer) {
  uint64_t state = 7;
  const auto draw = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  const std::string_view bits[] = {"{", "}", "\"", "'", "/*", "*/", "//", "\n", "\n\n", "\\\n", "#if\n", "#else\n", "#endif\n", "#define ", "R\"(", ")\"", "namespace x ", "extern \"C\" ",
                                   "template <", "void f(", ")", ";", "```\n", "# H\n", "\"\"\"", "def f():\n", "@", "  ", "\xff\xfe", "word", "<", "(", "class ", "\t", "copyright\n"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint64_t i = draw(120); i > 0; --i) text += draw(4) == 0 ? std::string(1, static_cast<char>(draw(256))) : std::string(bits[draw(std::size(bits))]);
    for (const Language language : {Language::kC, Language::kPython, Language::kMarkdown, Language::kPlain}) {
      const Scan scanned = scan(text, language);
      uint32_t end = 0;
      for (const auto& run : scanned.runs) {
        ASSERT_EQ(run.begin, end);
        ASSERT_GT(run.end, run.begin);
        end = run.end;
      }
      ASSERT_EQ(end, text.size());
      std::vector<int> times(scanned.lines.size(), 0);
      for (const Section& section : sections_of(text, scanned, language)) {
        ASSERT_LE(section.from, section.to);
        ASSERT_LE(section.to, scanned.lines.size());
        ASSERT_LE(section.to - section.from + 1, kMostSectionLines);
        for (uint32_t line = section.from; line <= section.to; ++line) ++times[line - 1];
      }
      for (size_t i = 0; i < times.size(); ++i) {
        ASSERT_LE(times[i], 1);
        ASSERT_TRUE(times[i] == 1 || scanned.lines[i].blank || scanned.lines[i].skipped) << "line " << i + 1 << " of:\n" << text;
      }
    }
  }
}

}  // namespace
}  // namespace kw::codesearch
