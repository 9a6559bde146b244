// Calls between two clocks, and the fingerprints that they are compared by.
#include <algorithm>

#include "device/any_device_for_test.h"
#include "device/report_json.h"

namespace kw::device {
namespace {

class TimedCall : public AnyDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, TimedCall, testing::Values("emulator", "emulator_process", "gpu", "gpu_process"),
                         [](const auto& info) { return info.param; });

// y is a copy of the turned x plus one; calls have the contents and the fingerprints that the header says.
TEST_P(TimedCall, HaveTurnedContentsAndLeaveTheWrittenOnes) {
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

TEST_P(TimedCall, FindWrittenInputsAndWhatLiesBesideABuffer) {
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

// Every step of a plan, in streams of a graph: the others see one launch.
TEST_P(TimedCall, RunEveryStepInItsOrder) {
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

// Where it can be had: the plan's one kernel, of which events show more, and no less after calls that were not traced.
TEST_P(TimedCall, ATraceIsGivenOrTheReasonWhyNot) {
  auto loaded = device_->load(add_plan(kCount));
  ASSERT_TRUE(loaded);
  ASSERT_TRUE((*loaded)->write("x", bytes_of(ramp())));
  for (const bool trace : {true, false, true}) {
    const auto called = (*loaded)->call({.key = 3, .trace = trace});
    ASSERT_TRUE(called) << format_error(called.error());
    EXPECT_TRUE(called->completed);
    EXPECT_EQ(called->outputs.size(), 1u);
    EXPECT_EQ(called->traced_s > 0 || !called->untraced.empty(), trace) << called->untraced;
    EXPECT_LE(called->traced_s, called->device_s);
  }
}

// The kernel that GPUs take fingerprints with, on the emulator.
// Words are counted over the pieces that threads take.
TEST(Fingerprint, OfManyPiecesIsThatOfTheWhole) {
  std::vector<uint8_t> bytes((size_t{9} << 20) + 3);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 >> 3);
  const uint64_t key = 77;
  Fingerprint sums;   // as the header says
  for (size_t i = 0; 4 * i < bytes.size(); ++i) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + 4 * i, std::min<size_t>(4, bytes.size() - 4 * i));
    uint64_t m = (uint64_t{word} + 1) * 0x9e3779b97f4a7c15 + i * 0xbb67ae8584caa73b + key;
    m ^= m >> 32;
    m *= 0x3c6ef372fe94f82b;
    m ^= m >> 29;
    sums.first += m;
    m *= 0x9e3779b97f4a7c15;
    sums.second += m ^ (m >> 32);
  }
  EXPECT_EQ(fingerprint_of(bytes, key), sums);
}

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

// Between a device process and its caller.
TEST(CallReport, TravelsWithItsTrace) {
  CallReport report;
  report.completed = true;
  report.traced_s = 3e-6;
  report.traced = {{"scale", 0, 1e-6}, {"", 2e-6, 3e-6}};
  const auto read = call_report_of(json_of(report));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->traced.size(), 2u);
  EXPECT_EQ(read->traced[0].kernel, "scale");
  EXPECT_EQ(read->traced[1].begin_s, 2e-6);
  EXPECT_EQ(read->traced[1].end_s, 3e-6);
  for (const char* step : {"1", "[]", "[\"scale\", 0]", "[1, 2, 3]", "{}"}) {
    nlohmann::json bad = json_of(report);
    bad["traced"] = nlohmann::json::parse(std::string("[") + step + "]");
    EXPECT_FALSE(call_report_of(bad)) << step;
  }
}

}  // namespace
}  // namespace kw::device
