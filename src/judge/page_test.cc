#include "judge/page.h"

#include <gtest/gtest.h>

namespace kw::judge {
namespace {

Verdict race() {
  Verdict verdict;
  verdict.problem = "softmax";
  verdict.candidate = "softmax.cu";
  verdict.target = "sm_80";
  verdict.decided_by = Rung::kSmallest;
  Unsafe unsafe;
  unsafe.workload = {"tiny", {{"M", 2}}, false};
  unsafe.numbers_right = true;
  emu::Finding finding;
  finding.kind = emu::Finding::Kind::kRace;
  finding.message = "shared bytes 16..20 read by warp 1 while warp 0 writes them";
  finding.party.kernel = "softmax_kernel";
  finding.party.source_file = "softmax.cu";
  finding.party.source_line = 2;
  finding.party.instruction = "ld.shared.f32 %f1, [%r1];";
  finding.other = finding.party;
  unsafe.findings.push_back(finding);
  verdict.outcome = unsafe;
  return verdict;
}

TEST(Page, ARaceShowsBothPartiesAndTheirSource) {
  const std::string text = page(race(), [](const std::string& file) {
    return file == "softmax.cu" ? std::string("one\ntwo\nthree\n") : std::string();
  });
  EXPECT_NE(text.find("UNSAFE"), std::string::npos) << text;
  EXPECT_NE(text.find(">     2 | two"), std::string::npos) << text;
  EXPECT_NE(text.find("and softmax.cu:2"), std::string::npos) << text;
  EXPECT_NE(text.find("numbers were right"), std::string::npos) << text;
}

TEST(Page, TheCandidatesLineComesBeforeTheHeadersThatItInlines) {
  Verdict verdict = race();
  emu::Finding& finding = std::get<Unsafe>(verdict.outcome).findings[0];
  finding.party.kernel = "_ZN12_GLOBAL__N_17softmaxEPKf";
  finding.party.source_file = "/usr/local/cuda/include/sm_20_intrinsics.hpp";
  finding.party.source_line = 27;
  finding.party.inlined_from = {{"/p/include/kernelwright/copy.cuh", 11, 1}, {"softmax.cu", 1, 1}, {"softmax.cu", 3, 1}};
  const std::string text = page(verdict, [](const std::string& file) { return file == "softmax.cu" ? std::string("one\ntwo\nthree\n") : "no"; });
  const size_t own = text.find("at softmax.cu:1 in softmax\n"), marked = text.find(">     1 | one\n"),
               header = text.find("inlined from sm_20_intrinsics.hpp:27, kernelwright/copy.cuh:11\n"),
               caller = text.find("inlined into softmax.cu:3: three\n");
  ASSERT_NE(own, std::string::npos) << text;
  ASSERT_NE(caller, std::string::npos) << text;
  EXPECT_LT(own, marked) << text;
  EXPECT_LT(marked, header) << text;
  EXPECT_LT(header, caller) << text;
}

TEST(Page, ShowsThreeGroupsOfFindingsAndSaysHowManyMore) {
  Verdict verdict = race();
  auto& findings = std::get<Unsafe>(verdict.outcome).findings;
  for (uint32_t line = 2; line <= 6; ++line) {
    emu::Finding finding = findings[0];
    finding.party.source_line = line;
    finding.party.ptx_line = 100 + line;
    findings.push_back(finding);   // that of line 2 joins the first
  }
  const std::string text = page(verdict, {});
  size_t races = 0;
  for (size_t at = text.find("  race:"); at != std::string::npos; at = text.find("  race:", at + 1)) ++races;
  EXPECT_EQ(races, 3u) << text;
  EXPECT_NE(text.find("seen 2 times at these lines"), std::string::npos) << text;
  EXPECT_NE(text.find("findings at 2 more places"), std::string::npos) << text;
}

TEST(Page, AFindingInATensorNamesItsElement) {
  Verdict verdict = race();
  auto& unsafe = std::get<Unsafe>(verdict.outcome);
  unsafe.findings[0].object = "y";
  unsafe.findings[0].object_offset = 34;
  unsafe.elements = {{"output", "y", "float16", {2, 64}, {0, 17}}};
  EXPECT_NE(page(verdict, {}).find("object: output y + 34 bytes: element [0, 17] of float16 [2, 64]"), std::string::npos) << page(verdict, {});
  EXPECT_NE(to_json(verdict).find("\"role\": \"output\""), std::string::npos);
}

TEST(Page, ACrashShowsTheLastLinesOfTheProgramWithoutItsEscapes) {
  Verdict verdict;
  Unrecordable crash;
  crash.message = "the host code crashed (SIGABRT)";
  crash.printed = "first\n2\n3\n4\n5\n6\n\n\x1b[31mred\tend " + std::string(200, 'x');
  verdict.outcome = crash;
  const std::string text = page(verdict, {});
  EXPECT_EQ(text.find("first"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    | 2\n    | 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("| ?[31mred end xxx"), std::string::npos) << text;
  EXPECT_EQ(text.find(std::string(100, 'x')), std::string::npos) << text;
}

TEST(Page, AWrongOutputSaysWhichElementsTheSmallestShapeAndTheFirstPiece) {
  Verdict verdict;
  Wrong wrong;
  wrong.workload = {"odd", {{"M", 7}, {"N", 129}}, false};
  wrong.first = {"y", {0, 32}, 0, 3, 0.5};
  wrong.pattern = "the last column of every row";
  wrong.minimal = Minimal{{"odd", {{"M", 1}, {"N", 33}}, true}, {"y", {0, 32}, 1, 2, 0.5}, 11};
  wrong.first_wrong_piece = WrongElement{"scale", {4}, 8, 4, 0.5};
  verdict.outcome = wrong;
  std::string text = page(verdict, {});
  EXPECT_NE(text.find("first wrong element: y[0, 32] = 0, should be 3 (off by 3, allowed 0.5)"), std::string::npos) << text;
  EXPECT_NE(text.find("wrong: the last column of every row"), std::string::npos) << text;
  EXPECT_NE(text.find("first wrong piece: scale[4] = 8, should be 4"), std::string::npos) << text;
  EXPECT_NE(text.find("smallest failing shape found: M=1, N=33 (11 runs): y[0, 32] = 1, should be 2"), std::string::npos) << text;
  wrong.minimal = Minimal{wrong.workload, wrong.first, 1};
  verdict.outcome = wrong;
  text = page(verdict, {});
  EXPECT_NE(text.find("no smaller shape was found to fail (1 run)"), std::string::npos) << text;
}

TEST(Page, NoLineIsLongerThanThePage) {
  Verdict verdict = race();
  std::get<Unsafe>(verdict.outcome).findings[0].message = std::string(40, 'a') + " " + std::string(50, 'b') + " " + std::string(60, 'c');
  const std::string text = page(verdict, {});
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 100u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace kw::judge
