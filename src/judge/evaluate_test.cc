#include "judge/evaluate.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/jail.h"
#include "device/device.h"
#include "problem/python_place.h"
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
KW_ENTRY(kw::In x, kw::Out y, cudaStream_t s) {
  exponential<<<(y.size() + 63) / 64, 64, 0, s>>>(x.data<float>(), y.data<float>(), y.size()); }
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

// Any device will do where a GPU is meant. The real workload is too dear to be run on the emulator as a shape.
TEST_F(Evaluate, RealWorkloadsRunWhereAGpuIsGiven) {
  EXPECT_EQ(judge(7).ladder[static_cast<size_t>(Rung::kFull)].status, RungReport::Status::kNotRun);
  Options options;
  options.seed = 7;
  options.cache_dir = *folder_ / "cache";
  options.gpu = device::make_emulator();
  auto with_real = problem::parse_problem(std::string(kProblem) + "  real all: N=600011 \"a test\"\n  real dear: N=1000000000000 \"a test\"\n", "case");
  ASSERT_TRUE(with_real) << format_error(with_real.error());
  const auto verdict = evaluate(*with_real, *folder_ / "c.cu", options);
  ASSERT_TRUE(verdict) << format_error(verdict.error());
  ASSERT_TRUE(verdict->correct()) << to_json(*verdict);
  const RungReport& full = verdict->ladder[static_cast<size_t>(Rung::kFull)];
  EXPECT_EQ(full.status, RungReport::Status::kPassed);
  EXPECT_NE(full.detail.find("1 of them real"), std::string::npos) << full.detail;
  EXPECT_NE(full.detail.find("left out as too dear: dear"), std::string::npos) << full.detail;
  const auto& correct = std::get<Correct>(verdict->outcome);
  EXPECT_EQ(correct.on_gpu, correct.workloads + 1);
  EXPECT_EQ(verdict->gpu, "PTX emulator");
}

// PyTorch on the CPU, where the emulator stands for the GPU: times mean nothing, what is compared does.
TEST_F(Evaluate, PyTorchIsARivalWhereItIsRight) {
  if (!problem::find_python()) GTEST_SKIP() << "no Python with torch";
  Options options;
  options.cache_dir = *folder_ / "cache";
  options.gpu = device::make_emulator();
  options.time = true;
  options.against = {"eager"};
  const auto rival_of = [&](std::string text) {
    const auto problem = problem::parse_problem(text + "  real all: N=4099 \"a test\"\n", "case");
    EXPECT_TRUE(problem) << format_error(problem.error());
    const auto verdict = evaluate(*problem, *folder_ / "c.cu", options);
    if (!verdict) return Ratio{"", std::nullopt, verdict.error().message};
    EXPECT_TRUE(verdict->correct()) << to_json(*verdict);
    return std::get<Correct>(verdict->outcome).times.at(0).rivals.at(0);
  };
  Ratio rival = rival_of(kProblem);
  EXPECT_TRUE(rival.rival.starts_with("PyTorch ") && rival.rival.ends_with(" eager in the stored dtypes")) << rival.rival;
  EXPECT_EQ(rival.why, "this device has no clock") << "so it was right when called, and never dropped";
  EXPECT_FALSE(rival.sealed);
  std::string text = kProblem;
  text.replace(text.find("exp(x)"), 6, "cbrt(exp(x)) ** 3");
  EXPECT_NE(rival_of(text).why.find("cbrt()"), std::string::npos) << "what has no translation is an error";
  // A library that has no operator for the problem is a rival that is not there.
  options.against = {"cublaslt"};
  rival = rival_of(kProblem);
  EXPECT_TRUE(rival.rival.starts_with("cuBLASLt ")) << rival.rival;
  EXPECT_EQ(rival.why, "cublaslt: the problem is not one matrix product (it has none)");
  options.against = {"cudnn"};
  rival = rival_of(kProblem);
  EXPECT_TRUE(rival.rival.starts_with("cuDNN ")) << rival.rival;
  EXPECT_EQ(rival.why, "cudnn: the problem has neither a convolution nor an attention that PyTorch gives to cuDNN");
}

// Right on all that the emulator runs, wrong on what is real: what only a GPU can see.
TEST_F(Evaluate, WhatIsWrongAtRealSizesOnlyIsWrongOnTheGpu) {
  std::string text = kCandidate;
  const std::string right = "KW_ENTRY(kw::In x, kw::Out y, cudaStream_t s) {";
  ASSERT_NE(text.find(right), std::string::npos);
  text.replace(text.find(right), right.size(), right + "\n  if (x.size() == 600011) { cudaMemsetAsync(y.data<float>(), 0, 600011 * 4, s); return; }");
  ASSERT_TRUE(write_file(*folder_ / "c.cu", text));
  auto with_real = problem::parse_problem(std::string(kProblem) + "  real all: N=600011 \"a test\"\n", "case");
  ASSERT_TRUE(with_real) << format_error(with_real.error());
  Options options;
  options.cache_dir = *folder_ / "cache";
  auto verdict = evaluate(*with_real, *folder_ / "c.cu", options);
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->correct()) << "the emulator cannot know";
  options.gpu = device::make_emulator();
  verdict = evaluate(*with_real, *folder_ / "c.cu", options);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(name_of(verdict->outcome), "wrong");
  EXPECT_EQ(verdict->decided_by, Rung::kFull);
}

}  // namespace
}  // namespace kw::judge
