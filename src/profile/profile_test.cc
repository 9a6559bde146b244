// What follows from formulas; whole candidates are in tests/profile.
#include "profile/profile.h"

#include <gtest/gtest.h>

#include "profile/scale.h"
#include "profile/shorten.h"
#include "profile/suite.h"
#include "profile/tools.h"

namespace kw::profile {
namespace {

const arch::Target& a100() { return **arch::find_target("sm_80"); }

TEST(Estimate, AStreamTakesTheTimeOfItsBytes) {
  Work work;
  work.blocks = 108 * 1000;
  work.dram_bytes = 2039e9 * 0.9;   // of a second
  const Time time = estimate(work, a100());
  EXPECT_NEAR(time.total, 1 + kLaunchSeconds, 1e-9);
  EXPECT_EQ(time.bound(), Time::kDram);
}

TEST(Estimate, TensorCoresWorkAtTheirPeak) {
  Work work;
  work.blocks = 108 * 4;
  work.tensor_operations = 312e12;
  EXPECT_NEAR(estimate(work, a100()).seconds[Time::kTensor], 1, 1e-9);
  work.tensor_dtype = tensor::DType::kTF32;
  EXPECT_NEAR(estimate(work, a100()).seconds[Time::kTensor], 2, 1e-9);
}

// 109 blocks on 108 SMs: one has two of them.
TEST(Estimate, TheSmWithTheMostBlocksDecides) {
  Work even, odd;
  even.blocks = 108;
  odd.blocks = 109;
  even.instructions[emu::Counters::kFloat32] = 108e6;
  odd.instructions[emu::Counters::kFloat32] = 109e6;   // as much a block
  EXPECT_NEAR(estimate(odd, a100()).seconds[Time::kIssue] / estimate(even, a100()).seconds[Time::kIssue], 2, 1e-9);
}

TEST(Estimate, MoreResidentBlocksHideMoreLatency) {
  Work work;
  work.blocks = 108 * 64;
  work.load_waits = 100;
  const double one = estimate(work, a100()).seconds[Time::kLatency];
  work.blocks_per_sm = 8;
  EXPECT_NEAR(one / estimate(work, a100()).seconds[Time::kLatency], 8, 1e-9);
}

TEST(Loops, AreBranchesBack) {
  const Loops loops = loops_of("$L__BB0_1:\nadd.s32 %r1, %r1, 1;\n@%p1 bra $L__BB0_1;\nbra.uni $L__BB0_9;\n$L__BB0_9:\nret;\n");
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0], (std::pair<uint32_t, uint32_t>{1, 3}));
  for (const char* text : {"", "bra", "bra $", "$", "$:", "$x:\nbra $x", "\n\n"}) EXPECT_TRUE(loops_of(text).empty()) << text;
}

Kernel kernel_launched(uint64_t blocks, uint64_t counted_blocks) {
  Kernel kernel;
  kernel.launched.blocks = blocks;
  kernel.counted_launched.blocks = counted_blocks;
  kernel.launched.threads = kernel.counted_launched.threads = 64;
  return kernel;
}

TEST(Scale, LoopsGoWithTheWorkAndTheRestWithTheWarps) {
  const Kernel kernel = kernel_launched(100, 10);
  emu::SiteCounters site;
  site.party.instruction = "add.f32 %f1, %f1, %f2;";
  site.warps = 20;
  site.party.ptx_line = 5;
  const Loops loops = {{4, 6}};
  EXPECT_EQ(times(site, by_loops(site, kernel, loops, 1000)).warps, 20 * 1000);
  EXPECT_EQ(times(site, by_blocks(kernel)).warps, 20 * 10);
  site.party.ptx_line = 7;
  EXPECT_EQ(times(site, by_loops(site, kernel, loops, 1000)).warps, 20 * 10);
}

TEST(Scale, WideningAnIndexIsNoConversion) {
  emu::SiteCounters site;
  site.instruction_class = emu::Counters::kConversion;
  for (const auto& [text, is] : {std::pair{"cvt.u64.u32 %rd1, %r1;", emu::Counters::kInteger}, {"cvt.f32.f16 %f1, %rs1;", emu::Counters::kConversion},
                                 {"@%p1 cvt.rni.s32.f32 %r1, %f1;", emu::Counters::kConversion}}) {
    site.party.instruction = text;
    EXPECT_EQ(times(site, 1).instruction_class, is) << text;
  }
}

problem::Problem matrix_problem() {
  return problem::parse_problem(R"(problem rows: "a matrix and one"
axes:
  M >= 1
  N >= 1
inputs:
  x: f32[M, N] ~ normal(0, 1)
outputs:
  y: f32[M, N]
reference:
  y = x + 1
workloads:
  smallest one: M=1, N=1
  real large: M=4096, N=8192 "a matrix"
)", "rows.problem").value();
}

// A candidate that launches a block a row, or always as many.
Record launching(std::function<uint32_t(int64_t)> blocks) {
  return [blocks](const problem::Workload& workload) -> Result<plan::Plan> {
    plan::Plan plan;
    plan::Launch launch;
    launch.kernel = "k";
    launch.grid[0] = blocks(workload.axes.at("M"));
    plan.steps.push_back({launch, {}, "", 0});
    return plan;
  };
}

TEST(Shorten, TakesBlocksAwayAndLeavesThemAsTheyAre) {
  const problem::Problem problem = matrix_problem();
  const problem::Workload& large = *problem.find_workload("large");
  const Record by_row = launching([](int64_t m) { return static_cast<uint32_t>(m); });
  const auto shorter = shorten(problem, large, *by_row(large), by_row);
  ASSERT_TRUE(shorter);
  EXPECT_EQ(shorter->workload.axes.at("N"), 8192);
  EXPECT_LT(shorter->workload.axes.at("M"), 4096);
  EXPECT_EQ(4096 % shorter->workload.axes.at("M"), 0);
  const Record always = launching([](int64_t) { return 108u; });
  EXPECT_FALSE(shorten(problem, large, *always(large), always));
}

TEST(Roofline, APointwiseProblemIsMemoryBound) {
  const problem::Problem problem = matrix_problem();
  Subject subject;
  subject.problem = &problem;
  subject.target = &a100();
  subject.cost = *problem::cost_of(problem, *problem.find_workload("large"));
  Kernel kernel;
  kernel.work.blocks = 1e5;
  kernel.work.warps_per_block = kernel.work.blocks_per_sm = 8;
  kernel.work.instructions[emu::Counters::kFloat32] = 1e10;   // this candidate computes
  kernel.time = estimate(kernel.work, a100());
  subject.kernels.push_back(kernel);
  const Roofline r = roofline(subject);
  EXPECT_EQ(r.by_problem, Class::kMemory);
  EXPECT_EQ(r.by_counters, Class::kCompute);
  EXPECT_FALSE(r.conflict.empty());
  EXPECT_DOUBLE_EQ(r.bytes, 2.0 * 4096 * 8192 * 4);
  EXPECT_DOUBLE_EQ(r.floor_seconds(), r.bytes / 2039e9);
}

TEST(Roofline, MeasuredPeaksTakeThePlaceOfSpecifiedOnes) {
  const problem::Problem problem = matrix_problem();
  Subject subject;
  subject.problem = &problem;
  subject.target = &a100();
  subject.cost = *problem::cost_of(problem, *problem.find_workload("large"));
  device::Calibration measured{"an A100", "sm_80", {{"DRAM read", "B/s", "1 GiB", 1700e9}, {"DRAM read", "B/s", "4 GiB", 1800e9}, {"fp16 mma.sync", "op/s", "", 290e12}}};
  const Roofline r = roofline(subject, measured);
  EXPECT_EQ(r.bytes_measured_on, "an A100");
  EXPECT_EQ(r.operations_measured_on, "") << "it has no rate of fp32";
  EXPECT_EQ(r.bytes_per_second, 1800e9) << "of the best size";
  const auto by_problem = roofline(problem, *problem.find_workload("large"), a100());
  ASSERT_TRUE(by_problem);
  EXPECT_EQ(by_problem->bytes_per_second, a100().part.dram_gbps * 1e9) << "without a candidate, as specified";
  EXPECT_EQ(by_problem->operations, r.operations);
  EXPECT_EQ(by_problem->needed_bytes, subject.cost.needed_bytes);
  EXPECT_FALSE(by_problem->by_counters);
  EXPECT_DOUBLE_EQ(r.compute_seconds, r.operations / 19.5e12) << "what was not measured is as specified";
  subject.matmul_dtype = tensor::DType::kF16;
  subject.cost.operations = subject.cost.matmul_operations = 1e12;
  EXPECT_DOUBLE_EQ(roofline(subject, measured).compute_seconds, 1e12 / 290e12);
  subject.target = *arch::find_target("sm_90");
  EXPECT_DOUBLE_EQ(roofline(subject, measured).compute_seconds, 1e12 / 989.4e12) << "where wgmma is faster";
  const auto list = metrics_of(subject, roofline(subject, measured));
  const auto peak = std::find_if(list.begin(), list.end(), [](const Metric& m) { return m.name == "peak of DRAM"; });
  ASSERT_NE(peak, list.end());
  EXPECT_EQ(peak->grade, Grade::kMeasured);
  EXPECT_EQ(peak->source, "calibration");
  const auto tensor_cores = std::find_if(list.begin(), list.end(), [](const Metric& m) { return m.name == "peak of tensor cores, f16"; });
  ASSERT_NE(tensor_cores, list.end());
  EXPECT_EQ(tensor_cores->source, "specification");
}

TEST(Tools, HaveNamesOfTheirOwn) {
  for (const Tool& tool : tools()) {
    EXPECT_NE(tool.of_kernel == nullptr, tool.of_candidate == nullptr) << tool.name;
    EXPECT_EQ(std::count_if(tools().begin(), tools().end(), [&](const Tool& other) { return other.name == tool.name; }), 1) << tool.name;
  }
}

TEST(Fixture, ErrorsNameTheLine) {
  const std::string file = std::string(KW_SOURCE_DIR) + "/tests/profile/x.cu";
  const auto message = [&](const char* text) {
    const auto fixture = read_fixture(text, file);
    return fixture ? std::string("read") : format_error(fixture.error());
  };
  EXPECT_EQ(message("// problem: problems/gelu.problem\n// expects: spills\n"), "read");
  EXPECT_NE(message("// problem: problems/gelu.problem\n// expects: bank_conflict\n").find("x.cu:2"), std::string::npos);
  EXPECT_NE(message("// problem: problems/none.problem\n").find("x.cu:1"), std::string::npos);
  EXPECT_NE(message("// problem: problems/gelu.problem\n// expects: spills\n// not: spills\n").find("both"), std::string::npos);
  EXPECT_NE(message("// problem: problems/gelu.problem\n").find("expects"), std::string::npos);
  EXPECT_NE(message("// verdict: correct\n").find("unknown key"), std::string::npos);
  EXPECT_EQ(message("// problem: problems/gelu.problem\n// expects: spills\n// followed: spills a/b\n// followed: atomics a/c\n"), "read");
  EXPECT_NE(message("// problem: problems/gelu.problem\n// expects: spills\n// followed: spills\n").find("x.cu:3"), std::string::npos);
  EXPECT_NE(message("// problem: problems/gelu.problem\n// expects: spills\n// followed: spill a/b\n").find("x.cu:3"), std::string::npos);
}

TEST(RankCorrelation, FollowsOrderAlone) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {1, 10, 100, 1000}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4, 5}, {2, 1, 4, 3, 5}), 0.8);   // 1 - 6 * 4 / (5 * 24)
  EXPECT_NEAR(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), 0.948683, 1e-6);  // ties at the mean of their ranks: 4.5 / sqrt(4.5 * 5)
  EXPECT_EQ(rank_correlation({1, 1}, {1, 2}), 0);
  EXPECT_EQ(rank_correlation({}, {}), 0);
}

// An emulator has no clock.
TEST(Measure, NeedsAClock) {
  const auto problem = problem::load_problem(std::string(KW_SOURCE_DIR) + "/problems/vector_add.problem");
  ASSERT_TRUE(problem.has_value());
  const auto device = device::make_emulator();
  const auto measured = measure(*device, *problem, problem->workloads.front(), {}, 1);
  ASSERT_FALSE(measured.has_value());
  EXPECT_NE(measured.error().message.find("GPU"), std::string::npos);
}

}  // namespace
}  // namespace kw::profile
