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
