#include "judge/evaluate.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/jail.h"
#include "toolchain/toolchain.h"

namespace kw::judge {
namespace {

constexpr const char* kProblem = R"(problem copy: "y = x"
axes:
  N >= 1
inputs:
  x: f32[N]
outputs:
  y: f32[N]
reference:
  y = exp(x)
workloads:
  smallest one: N=1
  shape large: N=3000, x ~ uniform(0, 1)
)";
constexpr const char* kCandidate = R"(#include <kernelwright/candidate.h>
__global__ void exponential(const float* x, float* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = expf(x[i]);
}
KW_ENTRY(kw::In x, kw::Out y, cudaStream_t s) { exponential<<<(y.size() + 63) / 64, 64, 0, s>>>(x.data<float>(), y.data<float>(), y.size()); }
)";

class Evaluate : public testing::Test {
 protected:
  void SetUp() override {
    if (!toolchain::find_nvcc()) GTEST_SKIP() << "no nvcc";
    if (jail_support().kind == JailKind::kNone) GTEST_SKIP() << "no jail";
    auto made = TempDir::create("kw-evaluate-test");
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
    ASSERT_TRUE(write_file(*folder_ / "c.cu", kCandidate));
    auto problem = problem::parse_problem(kProblem, "case");
    ASSERT_TRUE(problem) << format_error(problem.error());
    problem_ = *problem;
  }
  Verdict judge(std::optional<uint64_t> seed) {
    Options options;
    options.seed = seed;
    options.cache_dir = *folder_ / "cache";
    auto verdict = evaluate(problem_, *folder_ / "c.cu", options);
    EXPECT_TRUE(verdict) << format_error(verdict.error());
    return *verdict;
  }
  std::optional<TempDir> folder_;
  problem::Problem problem_;
};

TEST_F(Evaluate, EveryVerdictHasASecretSeedOfItsOwn) {
  const Verdict first = judge(std::nullopt), second = judge(std::nullopt);
  EXPECT_TRUE(first.correct());
  EXPECT_NE(first.seed, second.seed);
  EXPECT_EQ(judge(7).seed, 7u);
}

TEST_F(Evaluate, TheWorstWorkloadIsReported) {
  const Verdict verdict = judge(7);
  ASSERT_TRUE(verdict.correct());
  const auto& correct = std::get<Correct>(verdict.outcome);
  ASSERT_EQ(correct.outputs.size(), 1u);
  // Thousands of elements have a larger error than the only one of the smallest workload, and than zeros, whose exponential is exact.
  EXPECT_GT(correct.outputs[0].metrics.elements, 1) << correct.outputs[0].workload.text();
  EXPECT_GT(correct.outputs[0].metrics.budget_used, 0);
}

}  // namespace
}  // namespace kw::judge
