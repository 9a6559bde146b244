// What goes wrong in the other process. What goes right is among the tests of every device.
#include "device/device_process.h"

#include <gtest/gtest.h>

namespace kw::device {
namespace {

constexpr char kNothing[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
)";

plan::Plan nothing_plan() {
  plan::Plan plan;
  plan.target = "sm_80";
  plan.modules.push_back({kNothing, plan::hash_of(kNothing)});
  plan.buffers.push_back({"x", plan::Role::kInput, 8, "int8", {8}, {1}});
  plan::Launch launch;
  launch.kernel = "nothing";
  plan.steps.emplace_back().action = launch;
  return plan;
}

DeviceProcessOptions server(const char* manner) { return {.argv = {KW_DEVICE_SERVER, manner}, .answer_s = 5}; }

TEST(DeviceProcess, RunsThatDoNotEndAreNotCompletedAndTheNextPlanRunsInAnother) {
  auto device = make_device_process(server("hangs"));
  ASSERT_TRUE(device) << format_error(device.error());
  auto loaded = (*device)->load(nothing_plan());
  auto neighbour = (*device)->load(nothing_plan());
  ASSERT_TRUE(loaded && neighbour);
  const auto report = (*loaded)->run({.deadline_s = 0.1});
  ASSERT_TRUE(report) << format_error(report.error());
  EXPECT_FALSE(report->completed);
  EXPECT_EQ(report->first_with_finding(), nullptr);
  EXPECT_FALSE((*loaded)->write("x", std::vector<uint8_t>(8)));
  EXPECT_FALSE((*neighbour)->run({.deadline_s = 0.1})) << "it was in the same process";
  auto next = (*device)->load(nothing_plan());
  ASSERT_TRUE(next) << format_error(next.error());
  EXPECT_TRUE((*next)->write("x", std::vector<uint8_t>(8)));
}

TEST(DeviceProcess, ADeadlineMayBeLongerThanAClockCounts) {
  auto device = make_device_process(server("emulator"));
  ASSERT_TRUE(device) << format_error(device.error());
  auto loaded = (*device)->load(nothing_plan());
  ASSERT_TRUE(loaded) << format_error(loaded.error());
  for (const double deadline_s : {1e10, 1e300}) {  // nanoseconds beyond 64 bits
    const auto report = (*loaded)->run({.deadline_s = deadline_s});
    ASSERT_TRUE(report) << format_error(report.error());
    EXPECT_TRUE(report->completed) << deadline_s;
  }
}

TEST(DeviceProcess, FieldsOfOtherTypesAreNoAnswer) {
  const auto nameless = make_device_process(server("nameless"));
  ASSERT_FALSE(nameless);
  EXPECT_NE(nameless.error().message.find("an answer that is none"), std::string::npos) << nameless.error().message;
  const auto confused = make_device_process(server("confused"));
  ASSERT_TRUE(confused) << format_error(confused.error());
  EXPECT_EQ((*confused)->conditions().sm_mhz, 0);
  EXPECT_EQ((*confused)->idle_power(0.1).watts, 0);
  const auto loaded = (*confused)->load(nothing_plan());
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("an answer that is none"), std::string::npos) << loaded.error().message;
}

TEST(DeviceProcess, AnotherIsOutOfReach) {
  auto device = make_device_process(server("hangs"));
  ASSERT_TRUE(device);
  auto other = (*device)->another();
  ASSERT_TRUE(other && *other);
  auto loaded = (*device)->load(nothing_plan());
  auto apart = (*other)->load(nothing_plan());
  ASSERT_TRUE(loaded && apart);
  EXPECT_FALSE((*loaded)->run({.deadline_s = 0.1})->completed);
  EXPECT_FALSE((*loaded)->write("x", std::vector<uint8_t>(8))) << "its process was ended";
  EXPECT_TRUE((*apart)->write("x", std::vector<uint8_t>(8)));
}

TEST(DeviceProcess, AProcessThatDiesIsAnError) {
  auto device = make_device_process(server("dies"));
  ASSERT_TRUE(device);
  auto loaded = (*device)->load(nothing_plan());
  ASSERT_TRUE(loaded);
  const auto report = (*loaded)->run({});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kIo);
}

TEST(DeviceProcess, WhatIsNoAnswerIsAnError) {
  for (const char* manner : {"silent", "garbage", "huge", "nowhere"}) {
    DeviceProcessOptions options = server(manner);
    options.answer_s = 0.2;
    EXPECT_FALSE(make_device_process(options)) << manner;
  }
  EXPECT_FALSE(make_device_process({}));
  EXPECT_FALSE(make_device_process({.argv = {"/no/such/program"}}));
  const auto none = make_device_process(server("none"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "there is no device") << "the device's own error arrives";
  EXPECT_EQ(none.error().notes, std::vector<std::string>{"buy one"});
}

TEST(DeviceProcess, FewerBytesThanABufferHasAreAnError) {
  auto device = make_device_process(server("shrinks"));
  ASSERT_TRUE(device);
  auto loaded = (*device)->load(nothing_plan());
  ASSERT_TRUE(loaded);
  std::vector<uint8_t> bytes(8);
  const Status read = (*loaded)->read("x", bytes);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("sends 4 bytes of 'x', not 8"), std::string::npos) << read.error().message;
}

TEST(DeviceProcess, RefusesWhatTheDeviceRefuses) {
  auto device = make_device_process(server("emulator"));
  ASSERT_TRUE(device);
  plan::Plan bad = nothing_plan();
  bad.steps[0].after = {0};
  EXPECT_FALSE((*device)->load(bad));
  plan::Plan unknown = nothing_plan();
  std::get<plan::Launch>(unknown.steps[0].action).kernel = "another";
  EXPECT_FALSE((*device)->load(unknown));
  auto loaded = (*device)->load(nothing_plan());
  ASSERT_TRUE(loaded) << "and goes on";
  EXPECT_FALSE((*loaded)->write("x", std::vector<uint8_t>(7)));
  EXPECT_FALSE((*loaded)->first_unwritten("y"));
  EXPECT_TRUE((*loaded)->run({}));
}

}  // namespace
}  // namespace kw::device
