#include "judge/run_cases.h"

#include <gtest/gtest.h>

namespace kw::judge {
namespace {

// What a report of one launch says about a candidate.
class Findings : public testing::Test {
 protected:
  std::string verdict(std::optional<emu::Finding::Kind> kind, bool completed) {
    device::RunReport report;
    report.completed = completed;
    device::StepReport step;
    step.completed = completed;
    if (kind) step.findings.emplace_back().kind = *kind;
    report.steps.push_back(step);
    const auto outcome = judge_findings(Climb{}, Case{}, report, true);
    return outcome ? std::string(name_of(*outcome)) : "";
  }
};

TEST_F(Findings, NoneAndToTheEndIsNothingAgainstIt) { EXPECT_EQ(verdict(std::nullopt, true), ""); }

TEST_F(Findings, WhatDoesNotEndIsATimeout) {
  EXPECT_EQ(verdict(std::nullopt, false), "timeout") << "all launches together";
  EXPECT_EQ(verdict(emu::Finding::Kind::kLimit, false), "timeout") << "one of them";
}

TEST_F(Findings, WhatTheEmulatorLacksIsNoClaim) { EXPECT_EQ(verdict(emu::Finding::Kind::kUnsupported, false), "not-checked"); }

TEST_F(Findings, AFaultIsUnsafeThoughTheNumbersAreRight) {
  EXPECT_EQ(verdict(emu::Finding::Kind::kRace, true), "unsafe");
  EXPECT_EQ(verdict(emu::Finding::Kind::kOutOfBounds, false), "unsafe");
}

TEST(UntilFailure, RunsEverythingBelowTheLowestThatFails) {
  for (const int threads : {1, 4}) {
    std::vector<int> ran(50, 0);
    until_failure(ran.size(), threads, [&](uint64_t i) {
      ran[i] = 1;
      return i != 20 && i != 30;
    });
    for (size_t i = 0; i <= 20; ++i) EXPECT_EQ(ran[i], 1) << i;
    if (threads == 1) {
      EXPECT_EQ(ran[21], 0);
    }
  }
}

}  // namespace
}  // namespace kw::judge
