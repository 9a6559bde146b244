#include "judge/verdict.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace kw::judge {
namespace {

TEST(Verdict, EveryOutcomeHasItsWordAndExitCode) {
  EXPECT_EQ(name_of(Outcome{CompileError{}}), "compile-error");
  EXPECT_EQ(name_of(Outcome{Unrecordable{}}), "unrecordable");
  EXPECT_EQ(name_of(Outcome{ContractViolation{}}), "contract-violation");
  EXPECT_EQ(name_of(Outcome{Wrong{}}), "wrong");
  EXPECT_EQ(name_of(Outcome{Nondeterministic{}}), "nondeterministic");
  EXPECT_EQ(name_of(Outcome{Unsafe{}}), "unsafe");
  EXPECT_EQ(name_of(Outcome{Timeout{}}), "timeout");
  EXPECT_EQ(exit_code(Outcome{Timeout{}}), 1);
  EXPECT_EQ(exit_code(Outcome{NotChecked{}}), 3);
  EXPECT_EQ(exit_code(Outcome{Correct{}}), 0);
}

TEST(Verdict, JsonKeepsNanAndSurvivesBytesThatAreNotText) {
  Verdict verdict;
  Wrong wrong;
  wrong.first.tensor = "y";
  wrong.first.got = std::numeric_limits<double>::quiet_NaN();
  wrong.first.expected = -std::numeric_limits<double>::infinity();
  verdict.candidate = "bad \xff name";
  verdict.outcome = wrong;
  const auto json = nlohmann::json::parse(to_json(verdict));
  EXPECT_EQ(json["verdict"], "wrong");
  EXPECT_EQ(json["outcome"]["got"], "nan");
  EXPECT_EQ(json["outcome"]["expected"], "-inf");
  EXPECT_EQ(json["ladder"].size(), static_cast<size_t>(kRungs));
}

TEST(Verdict, AWorkloadNamesItsAxes) {
  EXPECT_EQ((WorkloadName{"tail", {{"M", 3}, {"N", 5}}, false}.text()), "tail (M=3, N=5)");
}

}  // namespace
}  // namespace kw::judge
