#include "device/any_device_for_test.h"

namespace kw::device {
namespace {

INSTANTIATE_TEST_SUITE_P(Devices, AnyDevice, testing::Values("emulator", "emulator_process", "gpu", "gpu_process"),
                         [](const auto& info) { return info.param; });

TEST_P(AnyDevice, RunsAPlan) {
  auto loaded = device_->load(add_plan(kCount));
  ASSERT_TRUE(loaded) << format_error(loaded.error());
  ASSERT_TRUE((*loaded)->write("x", bytes_of(ramp())));
  auto report = (*loaded)->run({.check_races = true, .check_uninitialised = true, .count = true});
  ASSERT_TRUE(report) << format_error(report.error());
  EXPECT_TRUE(report->clean()) << (report->first_with_finding() ? report->first_with_finding()->findings[0].message : "");
  const auto y = floats_of(**loaded, "y");
  for (uint32_t i = 0; i < kCount; ++i) EXPECT_EQ(y[i], static_cast<float>(i) + 1);
  ASSERT_EQ(report->steps.size(), 1u);
  EXPECT_EQ(report->steps[0].warp_instructions > 0, counts_);
}

TEST_P(AnyDevice, WhatIsNotWrittenIsPoison) {
  auto loaded = device_->load(add_plan(50));
  ASSERT_TRUE(loaded);
  ASSERT_TRUE((*loaded)->write("x", bytes_of(ramp())));
  ASSERT_TRUE((*loaded)->run({}));
  const auto y = floats_of(**loaded, "y");
  EXPECT_EQ(y[49], 50.0f);
  EXPECT_NE(y[50], y[50]);   // NaN
}

TEST_P(AnyDevice, OutOfBoundsIsAFinding) {
  auto loaded = device_->load(add_plan(kCount + 1));
  ASSERT_TRUE(loaded);
  ASSERT_TRUE((*loaded)->write("x", bytes_of(ramp())));
  auto report = (*loaded)->run({});
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->clean());
  ASSERT_NE(report->first_with_finding(), nullptr);
  const emu::Finding& finding = report->first_with_finding()->findings[0];
  EXPECT_EQ(finding.kind, emu::Finding::Kind::kOutOfBounds);
  EXPECT_EQ(finding.object, device_->capabilities().findings ? "x" : "y") << "a GPU sees no load there, only what is stored";
}

TEST_P(AnyDevice, InputsAreReadOnly) {
  plan::Plan plan = add_plan(kCount);
  std::get<plan::Launch>(plan.steps[0].action).relocations[1].target.buffer = 0;
  auto loaded = device_->load(plan);
  ASSERT_TRUE(loaded);
  ASSERT_TRUE((*loaded)->write("x", bytes_of(ramp())));
  auto report = (*loaded)->run({});
  ASSERT_TRUE(report);
  ASSERT_NE(report->first_with_finding(), nullptr);
  EXPECT_EQ(report->first_with_finding()->findings[0].kind, emu::Finding::Kind::kWriteToReadOnly);
}

TEST(EmulatorDevice, UnwrittenInputIsUninitialised) {
  auto loaded = make_emulator()->load(add_plan(kCount));
  ASSERT_TRUE(loaded);
  auto report = (*loaded)->run({.check_uninitialised = true});
  ASSERT_TRUE(report);
  ASSERT_NE(report->first_with_finding(), nullptr);
  EXPECT_EQ(report->first_with_finding()->findings[0].kind, emu::Finding::Kind::kUninitialisedRead);
}

TEST_P(AnyDevice, VariablesAndOtherSteps) {
  plan::Plan plan = add_plan(kCount);
  plan::Step launch = plan.steps[0];
  plan.steps.clear();
  plan::Step write;
  plan::Write bias;
  bias.to = {.module = 0, .variable = "bias"};
  bias.data = bytes_of({10.0f});
  write.action = bias;
  plan.steps.push_back(write);
  launch.after = {0};
  plan.steps.push_back(launch);
  plan::Step fill;
  plan::Fill ones;
  ones.to.buffer = 1;
  ones.to.offset = 4;
  ones.pattern = {0, 0, 0x80, 0x3f};
  ones.row_bytes = 8;
  fill.action = ones;
  fill.after = {1};
  plan.steps.push_back(fill);
  plan::Step copy;
  plan::Copy rows;
  rows.to.buffer = 1;
  rows.to.offset = 40;
  rows.from.buffer = 0;
  rows.from.offset = 8;
  rows.row_bytes = 4;
  rows.rows = 2;
  rows.to_pitch = 8;
  rows.from_pitch = 4;
  copy.action = rows;
  copy.after = {1};
  plan.steps.push_back(copy);
  for (const uint64_t seed : {0, 1, 2, 3}) {
    auto loaded = device_->load(plan, {.layout_seed = seed});
    ASSERT_TRUE(loaded) << format_error(loaded.error());
    ASSERT_TRUE((*loaded)->write("x", bytes_of(ramp())));
    for (int repeat = 0; repeat < 2; ++repeat) {
      auto report = (*loaded)->run({.schedule_seed = seed});
      ASSERT_TRUE(report) << format_error(report.error());
      const auto y = floats_of(**loaded, "y");
      EXPECT_EQ(y[0], 10.0f);
      EXPECT_EQ(y[1], 1.0f);
      EXPECT_EQ(y[2], 1.0f);
      EXPECT_EQ(y[3], 13.0f);
      EXPECT_EQ(y[10], 2.0f);
      EXPECT_EQ(y[11], 21.0f);
      EXPECT_EQ(y[12], 3.0f);
    }
  }
}

// y[0] = ++calls, y[1] stays as it is.
constexpr char kCounter[] = R"(
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 calls = 7;
.visible .entry count(.param .u64 y)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.global.u32 %r1, [calls];
  add.u32 %r1, %r1, 1;
  st.global.u32 [calls], %r1;
  ld.param.u64 %rd1, [y];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

plan::Plan counter_plan() {
  plan::Plan plan;
  plan.target = "sm_80";
  plan.modules.push_back({kCounter, plan::hash_of(kCounter)});
  plan.buffers.push_back({"y", plan::Role::kOutput, 8, "i32", {2}, {1}});
  plan::Launch launch;
  launch.kernel = "count";
  launch.params.assign(8, 0);
  launch.relocations = {{0, {.buffer = 0}}};
  plan.steps.emplace_back().action = launch;
  return plan;
}

TEST_P(AnyDevice, VariablesOutliveACallWhenAskedAndBuffersDoNot) {
  auto loaded = device_->load(counter_plan());
  ASSERT_TRUE(loaded) << format_error(loaded.error());
  const auto call = [&](bool keep) {
    auto report = (*loaded)->run({.check_uninitialised = true, .keep_variables = keep});
    EXPECT_TRUE(report && report->clean());
    std::vector<uint8_t> bytes(8);
    EXPECT_TRUE((*loaded)->read("y", bytes));
    EXPECT_EQ(bytes[4], 0xff) << "poison";
    const auto unwritten = (*loaded)->first_unwritten("y");
    EXPECT_TRUE(unwritten.has_value());
    EXPECT_EQ(*unwritten, device_->capabilities().findings ? std::optional<uint64_t>(4) : std::nullopt);
    return int{bytes[0]};
  };
  EXPECT_EQ(call(false), 8);
  EXPECT_EQ(call(true), 9);
  EXPECT_EQ(call(true), 10);
  EXPECT_EQ(call(false), 8);
  ASSERT_TRUE((*loaded)->write("y", std::vector<uint8_t>(8, 1)));
  EXPECT_EQ(*(*loaded)->first_unwritten("y"), std::nullopt);
  EXPECT_EQ(call(true), 9) << "and poisoned again";
}

TEST(EmulatorDevice, WhatAnEarlierRunLeftInVariablesMayBeForbidden) {
  auto loaded = make_emulator()->load(counter_plan());
  ASSERT_TRUE(loaded) << format_error(loaded.error());
  const auto run = [&](bool keep) {
    auto report = (*loaded)->run({.check_uninitialised = true, .keep_variables = keep, .forbid_stale_variables = true});
    EXPECT_TRUE(report) << format_error(report.error());
    return report->first_with_finding() == nullptr ? emu::Finding{} : report->first_with_finding()->findings[0];
  };
  EXPECT_EQ(run(false).message, "");
  EXPECT_EQ(run(true).kind, emu::Finding::Kind::kUninitialisedRead);
  EXPECT_EQ(run(true).object, "calls");
  EXPECT_EQ(run(false).message, "");
}

// Two launches and a fill, of which `after` says what waits for what; the second launch adds in place what the first
// wrote, or the fill overwrites it.
TEST(EmulatorDevice, StepsWithoutOrderThatShareBytesRace) {
  const auto kinds_with = [](std::vector<uint32_t> second_after, std::vector<uint32_t> fill_after, uint64_t seed) {
    plan::Plan plan = add_plan(kCount);
    plan.buffers.push_back({"z", plan::Role::kOutput, kCount * 4, "f32", {kCount}, {1}});
    plan.steps.push_back(plan.steps[0]);
    auto& second = std::get<plan::Launch>(plan.steps[1].action);
    second.relocations = {{0, {.buffer = 1}}, {8, {.buffer = 2}}};
    plan.steps[1].after = std::move(second_after);
    plan::Step& fill = plan.steps.emplace_back();
    plan::Fill zeros;
    zeros.to.buffer = 1;
    zeros.to.offset = 4;
    zeros.pattern = {0};
    zeros.row_bytes = 4, zeros.rows = 2, zeros.pitch = 8;
    fill.action = zeros;
    fill.after = std::move(fill_after);
    auto loaded = make_emulator()->load(plan);
    EXPECT_TRUE(loaded) << format_error(loaded.error());
    EXPECT_TRUE((*loaded)->write("x", bytes_of(ramp())));
    auto report = (*loaded)->run({.check_races = true, .schedule_seed = seed});
    EXPECT_TRUE(report) << format_error(report.error());
    std::vector<uint32_t> races;
    for (const StepReport& step : report->steps) {
      for (const emu::Finding& finding : step.findings) {
        EXPECT_EQ(finding.kind, emu::Finding::Kind::kRace);
        EXPECT_EQ(finding.object, "y");
        races.push_back(step.step);
      }
    }
    return races;
  };
  using Races = std::vector<uint32_t>;
  EXPECT_EQ(kinds_with({0}, {1}, 0), Races{});
  EXPECT_EQ(kinds_with({}, {0, 1}, 0), Races{1});
  EXPECT_EQ(kinds_with({0}, {0}, 0), Races{2});
  EXPECT_EQ(kinds_with({}, {}, 0), (Races{1, 2}));
  for (const uint64_t seed : {1, 2, 3, 4}) EXPECT_EQ(kinds_with({}, {}, seed).size(), 2u) << "in any order";
}

TEST(EmulatorDevice, StepsThatTogetherTakeTooLongAreNotCompleted) {
  auto loaded = make_emulator()->load(add_plan(kCount));
  ASSERT_TRUE(loaded) << format_error(loaded.error());
  ASSERT_TRUE((*loaded)->write("x", bytes_of(ramp())));
  const auto report = (*loaded)->run({.deadline_s = 1e-300});
  ASSERT_TRUE(report) << format_error(report.error());
  EXPECT_FALSE(report->completed);
  EXPECT_EQ(report->first_with_finding(), nullptr);
}

TEST(EmulatorDevice, SizesAndNamesAreChecked) {
  auto loaded = make_emulator()->load(add_plan(kCount));
  ASSERT_TRUE(loaded);
  EXPECT_FALSE((*loaded)->write("z", bytes_of(ramp())));
  EXPECT_FALSE((*loaded)->write("x", bytes_of({1.0f})));
  EXPECT_FALSE(make_emulator({.memory_bytes = 100})->load(add_plan(kCount)));
  plan::Plan bad = add_plan(kCount);
  bad.steps[0].after = {0};
  EXPECT_FALSE(make_emulator()->load(bad));
}

}  // namespace
}  // namespace kw::device
