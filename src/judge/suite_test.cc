#include "judge/suite.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "toolchain/toolchain.h"

namespace kw::judge {
namespace {

Suite sample() {
  Suite suite;
  suite.folder = "cases";
  suite.seconds = 3.5;
  SuiteCase good;
  good.name = "right/a";
  good.target = "sm_80";
  good.expected = good.got = "correct";
  SuiteCase bad = good;
  bad.name = "wrong/<b>|\"x\"";
  bad.got = "wrong at shapes";
  bad.why = {"the verdict is wrong, not correct"};
  bad.page = "WRONG\n``` \x1b[31m \xff & ]]>\n";
  bad.seed = 7;
  suite.cases = {good, bad};
  return suite;
}

TEST(SuiteText, CountsAndNamesWhatDiffers) {
  const Suite suite = sample();
  EXPECT_EQ(closing_line(suite), "1 of 2 as expected");
  EXPECT_TRUE(line_of(suite.cases[0]).starts_with("as expected"));
  const std::string line = line_of(suite.cases[1]);
  EXPECT_NE(line.find("should be correct"), std::string::npos) << line;
  EXPECT_NE(line.find("--seed 7"), std::string::npos) << line;
}

TEST(SuiteText, JUnitXmlHoldsOnlyWhatXmlMay) {
  const std::string xml = junit_xml(sample());
  EXPECT_NE(xml.find("tests=\"2\" failures=\"1\" errors=\"0\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("name=\"wrong/&lt;b&gt;|&quot;x&quot;\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("?[31m ? &amp; ]]&gt;"), std::string::npos) << xml;
  EXPECT_EQ(xml.find('\x1b'), std::string::npos);
}

TEST(SuiteText, MarkdownFencesAPageThatHoldsAFence) {
  const std::string text = markdown_summary(sample());
  EXPECT_NE(text.find("### cases: 1 of 2 as expected"), std::string::npos) << text;
  EXPECT_NE(text.find("````\nWRONG"), std::string::npos) << text;
  EXPECT_NE(text.find("wrong/&lt;b>\\|"), std::string::npos) << text;
  EXPECT_EQ(markdown_summary(Suite{}).find("| candidate"), std::string::npos);
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create("kw-fixture-test");
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
    put("p.problem", "");
    put("k.cu", "// problem: p.problem\n// verdict: correct\nint a; int b;\n");
  }
  void put(const std::string& name, const std::string& text) {
    const std::string path = *folder_ / name;
    ASSERT_TRUE(make_folder(path.substr(0, path.rfind('/'))));
    ASSERT_TRUE(write_file(path, text));
  }
  std::string error(const std::string& text) {
    put("cases/c.case", text);
    auto found = find_fixtures(*folder_ / "cases");
    return found ? "" : format_error(found.error());
  }
  std::optional<TempDir> folder_;
};

TEST_F(Folder, FindsFixturesAndWhatTheyName) {
  put("cases/deep/edit.case", "problem: p.problem\nverdict: wrong\nrung: shapes\nbase: k.cu\nreplace: int a;\nwith: int c;\n");
  put("cases/two.case", "problem: p.problem\nverdict: correct\ncandidate: two/\n");
  put("cases/two/x.cu", "int x;");
  put("cases/two/y.cu", "int y;");
  auto found = find_fixtures(*folder_ / "cases");
  ASSERT_TRUE(found) << format_error(found.error());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].name, "deep/edit");
  EXPECT_EQ((*found)[1].name, "two");
  auto path = materialise((*found)[0], *folder_ / "out");
  ASSERT_TRUE(path) << format_error(path.error());
  EXPECT_NE(read_file(*path)->find("int c; int b;"), std::string::npos);
  EXPECT_TRUE((*materialise((*found)[1], *folder_ / "out")).ends_with("cases/two"));
}

TEST(Fixtures, AreHeldAgainstVerdictRungAndPage) {
  Fixture fixture;
  fixture.verdict = "wrong";
  fixture.rungs = {"smallest", "shapes"};
  fixture.says = {"y\\[\\d+\\]"};
  Verdict verdict;
  verdict.outcome = Wrong{};
  verdict.decided_by = Rung::kShapes;
  EXPECT_TRUE(mismatches(fixture, verdict, "first wrong element: y[33]").empty());
  EXPECT_EQ(mismatches(fixture, verdict, "first wrong element: z[33]"), std::vector<std::string>{"nowhere on the page: y\\[\\d+\\]"});
  verdict.decided_by = Rung::kValues;
  EXPECT_EQ(mismatches(fixture, verdict, "y[33]"), std::vector<std::string>{"rung values decided, not smallest or shapes"});
  verdict.outcome = Correct{};
  verdict.decided_by.reset();
  EXPECT_EQ(mismatches(fixture, verdict, "y[33]").size(), 2u);
  fixture.verdict = "correct";
  fixture.rungs.clear();
  EXPECT_TRUE(mismatches(fixture, verdict, "y[33]").empty());
}

TEST_F(Folder, AProblemAndItsCandidateMayLieTogether) {
  put("cases/x.problem", "problem x: \"x\"\ninputs:\n  a: f32[4]\noutputs:\n  y: f32[4]\nreference:\n  y = a * 2\nworkloads:\n"
                         "  smallest s:\ncandidates:\n  sm_80: \"x.cu\"\n");
  put("cases/x.cu", "int x;");
  auto found = find_fixtures(*folder_ / "cases");
  ASSERT_TRUE(found) << format_error(found.error());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].verdict, "correct");
  EXPECT_TRUE((*found)[0].candidate.ends_with("cases/x.cu"));
}

TEST_F(Folder, SaysWhatIsWrongWithAFixtureAndWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"verdict: wrong\n", "needs 'problem' and 'verdict'"},
      {"problem: q.problem\n", "c.case:1: error: there is no 'q.problem'"},
      {"problem: p.problem\nverdict: wrong\nbase: k.cu\n", "needs its 'rung'"},
      {"problem: p.problem\nverdict: correct\n", "needs 'base' or 'candidate'"},
      {"problem: p.problem\nverdict: correct\nwith: x\n", "c.case:3: error: 'with' needs a 'replace'"},
      {"problem: p.problem\nsays: (\n", "c.case:2: error: '(' is no regular expression"},
      {"hello\n", "c.case:1: error: expected 'key: value'"},
      {"colour: red\n", "unknown key 'colour'"},
      {"host-deadline: -1\n", "expected seconds"},
      {"host-deadline: 5 minutes\n", "expected seconds"},
      {"verdict: right\n", "c.case:1: error: 'right' is no verdict: compile-error, "},
      {"verdict: correct\nverdict: wrong\n", "c.case:2: error: 'verdict' is said twice"},
      {"rung: shapes contrat\n", "c.case:1: error: 'contrat' is no rung: compile, "},
      {"target: sm_80 sm_81\n", "c.case:1: error: unknown target \"sm_81\""},
  };
  for (const auto& [text, message] : cases) EXPECT_NE(error(text).find(message), std::string::npos) << error(text);
  EXPECT_EQ(error("problem: p.problem\r\nverdict: wrong\r\nrung: shapes\r\nbase: k.cu\r\n"), "");
  ASSERT_EQ(error("problem: p.problem\nverdict: correct\nbase: k.cu\nreplace: int\nwith: long\n"), "");
  auto found = find_fixtures(*folder_ / "cases");
  const auto path = materialise((*found)[0], *folder_ / "out");
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().message.find("more than once"), std::string::npos);
  EXPECT_FALSE(find_fixtures(*folder_ / "nowhere"));
  put("empty/readme.txt", "");
  EXPECT_FALSE(find_fixtures(*folder_ / "empty"));
}

TEST_F(Folder, WhatCannotBeJudgedIsNotAsExpected) {
  if (!toolchain::find_nvcc()) GTEST_SKIP() << "no nvcc";
  put("cases/c.cu", "// problem: p.problem\n// verdict: correct\nint a;\n");   // the problem is an empty file
  auto suite = run_suite(*folder_ / "cases", {});
  ASSERT_TRUE(suite) << format_error(suite.error());
  ASSERT_EQ(suite->cases.size(), 1u);
  EXPECT_EQ(suite->cases[0].got, "error");
  EXPECT_EQ(suite->as_expected(), 0u);
}

TEST(Fixtures, RegularExpressionsMayBeNestedDeep) {
  auto folder = TempDir::create();
  ASSERT_TRUE(folder);
  const std::string deep = std::string(50000, '(') + "a" + std::string(50000, ')');
  ASSERT_TRUE(write_file(*folder / "k.cu", "// problem: k.cu\n// verdict: correct\n// says: " + deep + "\n"));
  const auto fixtures = find_fixtures(folder->path());
  ASSERT_TRUE(fixtures) << format_error(fixtures.error()).substr(0, 200);
  Verdict verdict;
  verdict.outcome = Correct();
  EXPECT_TRUE(mismatches(fixtures->front(), verdict, "an a").empty());
  EXPECT_EQ(mismatches(fixtures->front(), verdict, "none").size(), 1u);
}

// One that tries every way of dividing the letters would not end in this world's time.
TEST(Fixtures, RegularExpressionsTakeTimeInProportionToThePage) {
  Fixture expected;
  expected.verdict = "correct";
  expected.says = {"(a|aa)+$", "((a*)*)*z", "\\xff|line one"};
  Verdict verdict;
  verdict.outcome = Correct();
  const std::vector<std::string> lacking = mismatches(expected, verdict, "line one\nbytes \xff\n" + std::string(200, 'a') + "\n");
  EXPECT_EQ(lacking, (std::vector<std::string>{"nowhere on the page: (a|aa)+$", "nowhere on the page: ((a*)*)*z"}));
}

}  // namespace
}  // namespace kw::judge
