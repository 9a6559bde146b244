// Slices against whole values, bit for bit: on every problem of ours, and where a slice has its own way to go wrong.
#include "problem/slices.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "problem/evaluate.h"
#include "problem/inputs.h"
#include "problem/plan_memory.h"

namespace kw::problem {
namespace {

constexpr double kMostOperations = 1e5;

std::vector<Problem> our_problems() {
  std::vector<Problem> problems;
  for (const auto& entry : std::filesystem::directory_iterator(KW_SOURCE_DIR "/problems"))
    if (entry.path().extension() == ".problem") {
      auto problem = load_problem(entry.path());
      EXPECT_TRUE(problem) << entry.path();
      if (problem) problems.push_back(std::move(*problem));
    }
  return problems;
}

void expect_same(const tensor::Tensor& a, const tensor::Tensor& b, const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  EXPECT_TRUE(a.bytes().empty() || std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0) << what;
}

// Every precision, with all names.
void expect_slices_are_whole(const Problem& problem, const Workload& workload, std::int64_t slice_bytes) {
  const auto inputs = make_inputs(problem, workload, 7);
  ASSERT_TRUE(inputs) << format_error(inputs.error());
  for (const auto precision : {Precision::kReference, Precision::kHonest, Precision::kDisturbed, Precision::kTruncated}) {
    EvaluateOptions options;
    options.precision = precision;
    options.keep_names = precision == Precision::kReference;
    options.threads = precision == Precision::kReference ? 3 : 1;
    options.slice_bytes = 0;
    const auto whole = evaluate(problem, workload, *inputs, options);
    options.slice_bytes = slice_bytes;
    const auto sliced = evaluate(problem, workload, *inputs, options);
    ASSERT_TRUE(whole && sliced) << problem.name << " " << workload.name;
    for (std::size_t i = 0; i < whole->outputs.size(); ++i)
      expect_same(sliced->outputs[i], whole->outputs[i], fmt::format("{} {} {}: {}", problem.name, workload.name, slice_bytes, problem.outputs[i].name));
    for (std::size_t i = 0; i < whole->names.size(); ++i)
      expect_same(sliced->names[i].value, whole->names[i].value, fmt::format("{} {}: {}", problem.name, workload.name, whole->names[i].name));
  }
}

std::int64_t slices_of(const Problem& problem, const Workload& workload, std::int64_t slice_bytes) {
  const auto plan = node_shapes(problem, workload.axes, false, {slice_bytes, 1});
  EXPECT_TRUE(plan);
  std::int64_t most = 0;
  for (const Region& region : plan->regions) most = std::max(most, region.loops.empty() ? 0 : region.slices());
  return most;
}

TEST(Slices, AreTheWhole) {
  int cut = 0;
  for (const Problem& problem : our_problems()) {
    std::int64_t most = 0;
    for (const Workload& workload : problem.workloads) {
      const auto cost = cost_of(problem, workload);
      if (workload.role == Role::kReal || !cost || cost->operations > kMostOperations) continue;
      const std::int64_t bytes = cost->operations > kMostOperations / 10 ? 1024 : 128;
      most = std::max(most, slices_of(problem, workload, bytes));
      expect_slices_are_whole(problem, workload, bytes);
    }
    cut += most > 1 ? 1 : 0;
  }
  EXPECT_GT(cut, 50);
}

Problem parsed(const std::string& text) {
  auto problem = parse_problem(text, "t");
  EXPECT_TRUE(problem) << format_error(problem.error());
  return std::move(*problem);
}

// Rows of a left operand, heads that share a right one, and what only heads have.
TEST(Slices, CutRowsOfProducts) {
  const Problem problem = parsed(R"(problem t: "t"
axes:
  H >= 1
inputs:
  q: f16[H, 4, 257, 8] ~ normal(0, 1)
  k: f16[H, 300, 8] ~ normal(0, 1)
  v: f16[H, 300, 4] ~ normal(0, 1)
outputs:
  o: f16[H, 4, 257, 4]
reference:
  seen = arange(300) <= arange(257)[:, None] + 43
  scores = where(seen, q @ transpose(k[:, None]), -inf)
  p: f16 = softmax(scores)
  o = p @ v[:, None]
workloads:
  smallest s: H=3
)");
  EXPECT_EQ(slices_of(problem, problem.workloads[0], 1 << 14), 3 * 4 * (257 / 64));
  expect_slices_are_whole(problem, problem.workloads[0], 1 << 14);
}

// A weight that is read once for a few rows: its columns, which are another tensor's rows.
TEST(Slices, CutColumnsOfProducts) {
  const Problem problem = parsed(R"(problem t: "t"
inputs:
  x: f16[3, 40]    ~ normal(0, 1)
  w: f16[2560, 40] ~ normal(0, 1)
outputs:
  y: f32[3, 2560]
reference:
  y = 2 * (x @ transpose(w))
workloads:
  smallest s:
)");
  EXPECT_EQ(slices_of(problem, problem.workloads[0], 1 << 11), 2560 / 64);
  expect_slices_are_whole(problem, problem.workloads[0], 1 << 11);
}

// The sum of one column goes another way than sums of several.
TEST(Slices, NeverSumASingleColumn) {
  const Problem problem = parsed(R"(problem t: "t"
inputs:
  x: f32[37, 80] ~ normal(0, 1)
outputs:
  y: f32[80]
reference:
  y = exp(mean(x * x, axis=0))
workloads:
  smallest s:
)");
  EXPECT_EQ(slices_of(problem, problem.workloads[0], 8), 40);
  expect_slices_are_whole(problem, problem.workloads[0], 8);
}

// x x^T has the rows of x at two axes: its slices would be blocks of the diagonal.
TEST(Slices, DoNotCutADiagonal) {
  const Problem problem = parsed(R"(problem t: "t"
inputs:
  x: f32[64] ~ normal(0, 1)
outputs:
  y: f32[64, 64]
reference:
  y = x[:, None] * x[None, :] + arange(64)
workloads:
  smallest s:
)");
  expect_slices_are_whole(problem, problem.workloads[0], 64);
}

// The reduction of everything comes after the slices, and slices of what depends on it after that.
TEST(Slices, GoOnBehindAReduction) {
  const Problem problem = parsed(R"(problem t: "t"
inputs:
  x: f32[64, 48] ~ normal(0, 1)
outputs:
  y: f32[64, 48]
reference:
  row = sum(exp(x), axis=1)
  y = x * (row / sum(row))[:, None]
workloads:
  smallest s:
)");
  const auto plan = node_shapes(problem, {}, false, {512, 1});
  ASSERT_TRUE(plan);
  EXPECT_EQ(std::count_if(plan->regions.begin(), plan->regions.end(), [](const Region& r) { return !r.loops.empty(); }), 2);
  expect_slices_are_whole(problem, problem.workloads[0], 512);
}

TEST(Slices, NameThePlaceInTheWhole) {
  const Problem problem = parsed(R"(problem t: "t"
inputs:
  x: f32[4, 8] ~ normal(0, 1)
  i: i32[64] ~ constant(0)
outputs:
  y: f32[64, 8]
reference:
  y = take(x, i, axis=0)
workloads:
  smallest s:
)");
  auto inputs = make_inputs(problem, problem.workloads[0], 1);
  ASSERT_TRUE(inputs);
  (*inputs)[1].set(50, 4);
  (*inputs)[1].set(61, 9);
  EvaluateOptions options;
  options.slice_bytes = 64;
  const auto failed = evaluate(problem, problem.workloads[0], *inputs, options);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("index 4 at [50] is outside"), std::string::npos) << failed.error().message;
}

// 2.1e9 scores are 17 GB; slices hold k, v and o beside rows of them.
TEST(Slices, NeedLittleMemory) {
  const auto problem = load_problem(KW_SOURCE_DIR "/problems/attention_gqa.problem");
  ASSERT_TRUE(problem);
  const Workload& real = *problem->find_workload("llama3_8b");
  const auto whole = node_shapes(*problem, real.axes), sliced = node_shapes(*problem, real.axes, false, {kSliceBytes, 16});
  ASSERT_TRUE(whole && sliced);
  EXPECT_GT(whole->peak_bytes, 2 * 17e9);
  EXPECT_LT(sliced->peak_bytes, 2e9);
}

}  // namespace
}  // namespace kw::problem
