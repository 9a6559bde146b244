#include "judge/evidence.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "base/jail.h"
#include "toolchain/toolchain.h"

namespace kw::judge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kProblem = R"(problem twice: "y = 2 x"
axes:
  N >= 1
inputs:
  x: f32[N]
outputs:
  y: f32[N]
reference:
  y = 2 * x
workloads:
  smallest one: N=1
)";
constexpr const char* kCandidate = R"(#include <kernelwright/candidate.h>
__global__ void twice(const float* x, float* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
KW_ENTRY(kw::In x, kw::Out y, cudaStream_t s) { twice<<<(y.size() + 63) / 64, 64, 0, s>>>(x.data<float>(), y.data<float>(), y.size()); }
)";

class EvidenceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create("kw-evidence-test");
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
    ASSERT_TRUE(write_file(*folder_ / "twice.problem", kProblem));
    ASSERT_TRUE(write_file(*folder_ / "twice.cu", kCandidate));
    auto problem = problem::load_problem(*folder_ / "twice.problem");
    ASSERT_TRUE(problem) << format_error(problem.error());
    problem_ = *problem;
    verdict_.problem = "twice";
    verdict_.candidate = *folder_ / "twice.cu";
    verdict_.target = "sm_80";
    verdict_.problem_file = problem_.file;
    verdict_.outcome = Correct{};
    auto evidence = evidence_of(problem_, verdict_.candidate);
    ASSERT_TRUE(evidence);
    verdict_.evidence = *evidence;
  }
  std::string refused(const std::string& text) {
    EXPECT_TRUE(write_file(*folder_ / "verdict.json", text));
    const auto result = recheck(*folder_ / "verdict.json");
    return result ? "" : format_error(result.error());
  }
  std::optional<TempDir> folder_;
  problem::Problem problem_;
  Verdict verdict_;
};

TEST_F(EvidenceTest, IsOfTheProblemAndOfEveryFile) {
  ASSERT_EQ(verdict_.evidence.sources.size(), 1u);
  EXPECT_EQ(verdict_.evidence.sources[0].path, "twice.cu");
  EXPECT_EQ(verdict_.evidence.sources[0].hash, hash_hex(kCandidate));
  EXPECT_EQ(verdict_.evidence.problem, hash_hex(kProblem));
}

TEST_F(EvidenceTest, StoreHoldsFilesByContent) {
  const auto first = store(*folder_ / "store", problem_, verdict_);
  ASSERT_TRUE(first) << format_error(first.error());
  EXPECT_EQ(*store(*folder_ / "store", problem_, verdict_), *first);
  EXPECT_EQ(*read_file(*folder_ / "store/objects/" + hash_hex(kCandidate)), kCandidate);
  ASSERT_TRUE(write_file(verdict_.candidate, "something else"));
  const auto changed = store(*folder_ / "store", problem_, verdict_);
  ASSERT_FALSE(changed);
  EXPECT_NE(changed.error().message.find("has changed"), std::string::npos);
}

TEST_F(EvidenceTest, RecheckRefusesWhatIsNoVerdict) {
  const Json good = Json::parse(to_json(verdict_));
  EXPECT_NE(refused("").find("no verdict"), std::string::npos);
  EXPECT_NE(refused("[1, 2").find("no verdict"), std::string::npos);
  EXPECT_NE(refused("{\"schema\": \"kernelwright/verdict/9\"}").find("no verdict"), std::string::npos);
  const std::pair<const char*, Json> changes[] = {
      {"/evidence/problem", "../../etc/passwd"}, {"/evidence/sources/0/path", "../x.cu"}, {"/evidence/sources/0/path", "/etc/x"},
      {"/evidence/sources/0/hash", 7},           {"/evidence", nullptr},                  {"/options/schedules", -3},
      {"/options/kernel_deadline_s", "long"},    {"/seed", "x"},                          {"/target", 8},
      {"/evidence/sources", Json::object()},     {"/options/judge_shapes", 1e18},
      {"/options/judge_shapes", 4294967298},     {"/options/schedules", 2.5},             {"/seed", -1},
      {"/seed", 1e300},                          {"/candidate", ""},                      {"/problem_file", std::string("a\0b", 3)},
      {"/evidence/sources", Json::array()}};
  for (const auto& [at, value] : changes) {
    Json bad = good;
    bad[Json::json_pointer(at)] = value;
    EXPECT_NE(refused(bad.dump()).find("missing from the verdict or not"), std::string::npos) << at << " " << value << refused(bad.dump());
  }
  std::string nested = good.dump();   // JSON is walked by recursion
  nested.insert(nested.size() - 1, ", \"deep\": " + std::string(100'000, '[') + std::string(100'000, ']'));
  EXPECT_NE(refused(nested).find("no verdict"), std::string::npos);
  std::string wide = good.dump();   // a key is not looked for among all before it
  wide.pop_back();
  for (int i = 0; i < 300'000; ++i) wide += fmt::format(",\"{}\":0", i);
  EXPECT_NE(refused(wide + ",\"schema\":1}").find("no verdict"), std::string::npos);
  ASSERT_TRUE(write_file(*folder_ / "twice.problem", std::string(kProblem) + "\n"));
  EXPECT_NE(refused(good.dump()).find("has changed since"), std::string::npos);
}

TEST_F(EvidenceTest, AStoredVerdictIsJudgedAgainWithoutItsFiles) {
  if (!toolchain::find_nvcc()) GTEST_SKIP() << "no nvcc";
  if (jail_support().kind == JailKind::kNone) GTEST_SKIP() << "no jail";
  Options options;
  options.seed = 5;
  options.cache_dir = *folder_ / "cache";
  auto verdict = evaluate(problem_, verdict_.candidate, options);
  ASSERT_TRUE(verdict) << format_error(verdict.error());
  const auto stored = store(*folder_ / "store", problem_, *verdict);
  ASSERT_TRUE(stored) << format_error(stored.error());
  ASSERT_TRUE(write_file(verdict_.candidate, "gone"));
  ASSERT_TRUE(write_file(problem_.file, "gone"));
  auto again = recheck(*stored);
  ASSERT_TRUE(again) << format_error(again.error());
  EXPECT_TRUE(again->differences.empty()) << again->differences.front();

  Json lie = Json::parse(*read_file(*stored));
  lie["verdict"] = "wrong";
  ASSERT_TRUE(write_file(*folder_ / "store/verdicts/lie.json", lie.dump()));
  again = recheck(*folder_ / "store/verdicts/lie.json");
  ASSERT_TRUE(again) << format_error(again.error());
  ASSERT_EQ(again->differences.size(), 1u);
  EXPECT_EQ(again->differences[0], "/verdict: \"wrong\" before, \"correct\" now");

  ASSERT_TRUE(write_file(*folder_ / "store/objects/" + verdict->evidence.sources[0].hash, "forged"));
  again = recheck(*stored);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("does not hold what its name says"), std::string::npos);
}

}  // namespace
}  // namespace kw::judge
