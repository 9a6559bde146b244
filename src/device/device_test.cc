#include "device/device.h"
#include "device/device_process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace kw::device {
namespace {

// y[i] = x[i] + bias, for i < n; bias is a module variable that the kernel also increments.
constexpr char kAdd[] = R"(
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .f32 bias = 0f3F800000;
.visible .entry add(
  .param .u64 x, .param .u64 y, .param .u32 n
)
{
  .reg .pred %p<3>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [n];
  setp.ge.u32 %p1, %r4, %r5;
  @%p1 bra DONE;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  ld.global.f32 %f2, [bias];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd5], %f3;
DONE:
  ret;
}
)";

constexpr uint32_t kCount = 100;

plan::Plan add_plan(uint32_t n) {
  plan::Plan plan;
  plan.target = "sm_80";
  plan.modules.push_back({kAdd, plan::hash_of(kAdd)});
  plan.buffers.push_back({"x", plan::Role::kInput, kCount * 4, "f32", {kCount}, {1}});
  plan.buffers.push_back({"y", plan::Role::kOutput, kCount * 4, "f32", {kCount}, {1}});
  plan::Launch launch;
  launch.kernel = "add";
  launch.grid = {(n + 31) / 32, 1, 1};
  launch.block = {32, 1, 1};
  launch.params.assign(20, 0);
  std::memcpy(launch.params.data() + 16, &n, 4);
  launch.relocations = {{0, {.buffer = 0}}, {8, {.buffer = 1}}};
  plan::Step step;
  step.action = launch;
  plan.steps.push_back(step);
  return plan;
}

std::vector<uint8_t> bytes_of(const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floats_of(const LoadedPlan& loaded, const char* name) {
  std::vector<uint8_t> bytes(kCount * 4);
  EXPECT_TRUE(loaded.read(name, bytes));
  std::vector<float> values(kCount);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> ramp() {
  std::vector<float> x;
  for (uint32_t i = 0; i < kCount; ++i) x.push_back(static_cast<float>(i));
  return x;
}

// The same plans on every device. GPUs take part where there are some.
class AnyDevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const bool gpu = GetParam().starts_with("gpu");
    if (gpu && !list_gpus()) GTEST_SKIP() << list_gpus().error().message;
    auto device = GetParam().ends_with("process") ? make_device_process({.argv = {KW_DEVICE_SERVER, gpu ? "gpu" : "emulator"}})
                  : gpu                           ? make_gpu()
                                                  : Result<std::unique_ptr<Device>>(make_emulator());
    ASSERT_TRUE(device) << format_error(device.error());
    device_ = std::move(*device);
    counts_ = !gpu;
  }
  std::unique_ptr<Device> device_;
  bool counts_ = false;
};
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

// y is a copy of the turned x plus one; calls have the contents and the fingerprints that the header says.
TEST_P(AnyDevice, CallsHaveTurnedContentsAndLeaveTheWrittenOnes) {
  plan::Plan plan = add_plan(kCount);
  plan.buffers[0].dtype = plan.buffers[1].dtype = "float32";
  for (const uint64_t layout : {0, 5}) {
    auto loaded = device_->load(plan, {.layout_seed = layout});
    ASSERT_TRUE(loaded) << format_error(loaded.error());
    ASSERT_TRUE((*loaded)->write("x", bytes_of(ramp())));
    for (const uint64_t turn : {uint64_t{0}, uint64_t{1}, uint64_t{37}, uint64_t{99}, uint64_t{1037}}) {
      for (const bool cold : {true, false}) {
        std::vector<float> expected = ramp();
        std::rotate(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(turn % kCount), expected.end());
        for (float& value : expected) value += 1;
        const auto called = (*loaded)->call({.turned = {"x"}, .turn = turn, .layout_seed = turn * layout, .afresh = turn == 37, .cold = cold, .repeats = 3, .key = 11});
        ASSERT_TRUE(called) << format_error(called.error());
        EXPECT_TRUE(called->completed);
        EXPECT_TRUE(called->findings.empty()) << called->findings[0].message;
        ASSERT_EQ(called->outputs.size(), 1u);
        EXPECT_EQ(called->outputs[0], fingerprint_of(bytes_of(expected), 11)) << turn;
        EXPECT_EQ(called->device_s > 0, device_->capabilities().times);
        EXPECT_EQ(called->host_s > 0, device_->capabilities().times && !cold);
      }
    }
    ASSERT_TRUE((*loaded)->run({}));
    EXPECT_EQ(floats_of(**loaded, "y")[3], 4.0f) << "the written contents again";
    const auto untouched = (*loaded)->call({.turned = {"w"}, .turn = 7, .key = 11});
    ASSERT_TRUE(untouched);
    std::vector<float> plain = ramp();
    for (float& value : plain) value += 1;
    EXPECT_EQ(untouched->outputs[0], fingerprint_of(bytes_of(plain), 11));
  }
}

TEST_P(AnyDevice, CallsFindWrittenInputsAndWhatLiesBesideABuffer) {
  plan::Plan writes_input = add_plan(kCount);
  std::get<plan::Launch>(writes_input.steps[0].action).relocations[1].target.buffer = 0;
  for (const auto& [plan, kind] : {std::pair{writes_input, emu::Finding::Kind::kWriteToReadOnly}, std::pair{add_plan(kCount + 1), emu::Finding::Kind::kOutOfBounds}}) {
    auto loaded = device_->load(plan);
    ASSERT_TRUE(loaded);
    ASSERT_TRUE((*loaded)->write("x", bytes_of(ramp())));
    const auto called = (*loaded)->call({.key = 3});
    ASSERT_TRUE(called) << format_error(called.error());
    ASSERT_FALSE(called->findings.empty());
    EXPECT_EQ(called->findings[0].kind, kind);
  }
}

// Every step of a plan, in streams of a graph: what CallsHave… sees is one launch.
TEST_P(AnyDevice, CallsRunEveryStepInItsOrder) {
  plan::Plan plan = add_plan(kCount);
  const plan::Step add = plan.steps[0];
  plan.buffers.push_back({"z", plan::Role::kOutput, kCount * 4, "float32", {kCount}, {1}});
  plan.buffers.push_back({"workspace 0", plan::Role::kWorkspace, kCount * 4, "", {}, {}});
  plan::Step to_workspace = add, to_y = add, to_z = add;
  std::get<plan::Launch>(to_workspace.action).relocations = {{0, {.buffer = 0}}, {8, {.buffer = 3}}};
  std::get<plan::Launch>(to_y.action).relocations = {{0, {.buffer = 3}}, {8, {.buffer = 1}}};
  std::get<plan::Launch>(to_z.action).relocations = {{0, {.buffer = 3}}, {8, {.buffer = 2}}};
  to_y.after = to_z.after = {1};
  to_workspace.after = {0};
  plan::Step bias;
  bias.action = plan::Write{{.module = 0, .variable = "bias"}, bytes_of({10.0f}), {}};
  plan::Step fill;
  fill.action = plan::Fill{{.buffer = 2, .offset = 4}, {0, 0, 0x80, 0x3f}, 8, 1, 0};
  fill.after = {3};
  plan.steps = {bias, to_workspace, to_y, to_z, fill};
  auto loaded = device_->load(plan);
  ASSERT_TRUE(loaded) << format_error(loaded.error());
  ASSERT_TRUE((*loaded)->write("x", bytes_of(ramp())));
  std::vector<float> y = ramp();
  for (float& value : y) value += 20;
  std::vector<float> z = y;
  z[1] = z[2] = 1;
  for (const bool cold : {true, false}) {
    const auto called = (*loaded)->call({.cold = cold, .key = 9});
    ASSERT_TRUE(called) << format_error(called.error());
    ASSERT_EQ(called->outputs.size(), 2u);
    EXPECT_EQ(called->outputs[0], fingerprint_of(bytes_of(y), 9));
    EXPECT_EQ(called->outputs[1], fingerprint_of(bytes_of(z), 9));
  }
}

// The kernel that GPUs take fingerprints with, on the emulator.
TEST(Fingerprint, TheKernelAgreesWithTheHostOnEverySize) {
  for (const uint32_t size : {1u, 2u, 3u, 4u, 5u, 127u, 128u, 129u, 4096u, 10007u}) {
    std::vector<uint8_t> bytes(size);
    for (uint32_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * i + 7 * i + 3);
    plan::Plan plan;
    plan.target = "sm_80";
    plan.modules.push_back({kFingerprintPtx, plan::hash_of(kFingerprintPtx)});
    plan.buffers.push_back({"x", plan::Role::kInput, size, "uint8", {size}, {1}});
    plan.buffers.push_back({"sums", plan::Role::kInOut, 16, "int64", {2}, {1}});
    plan::Launch launch;
    launch.kernel = kFingerprintKernel;
    launch.grid = {3, 1, 1};
    launch.block = {64, 1, 1};
    launch.params.assign(32, 0);
    const uint64_t length = size, key = 0x123456789abcdef;
    std::memcpy(launch.params.data() + 8, &length, 8);
    std::memcpy(launch.params.data() + 16, &key, 8);
    launch.relocations = {{0, {.buffer = 0}}, {24, {.buffer = 1}}};
    plan.steps.emplace_back().action = launch;
    auto loaded = make_emulator()->load(plan);
    ASSERT_TRUE(loaded) << format_error(loaded.error());
    ASSERT_TRUE((*loaded)->write("x", bytes));
    ASSERT_TRUE((*loaded)->write("sums", std::vector<uint8_t>(16)));
    const auto report = (*loaded)->run({.check_races = true, .check_uninitialised = true});
    ASSERT_TRUE(report) << format_error(report.error());
    EXPECT_TRUE(report->clean());
    Fingerprint sums;
    std::vector<uint8_t> got(16);
    ASSERT_TRUE((*loaded)->read("sums", got));
    std::memcpy(&sums, got.data(), 16);
    EXPECT_EQ(sums, fingerprint_of(bytes, key)) << size;
    bytes[size / 2] ^= 1;
    EXPECT_NE(sums, fingerprint_of(bytes, key)) << size;
    EXPECT_NE(sums.first, fingerprint_of(bytes, key).first) << size;
  }
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
