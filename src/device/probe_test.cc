// The kernels that devices are calibrated by do the work that they claim: the emulator counts it.
#include "device/probe.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "device/calibration.h"
#include "device/device.h"

namespace kw::device {
namespace {

RunReport counted(const plan::Plan& plan, std::vector<uint8_t>* ticks = nullptr) {
  const auto emulator = make_emulator();
  auto loaded = emulator->load(plan);
  EXPECT_TRUE(loaded) << format_error(loaded.error());
  const auto report = (*loaded)->run({.check_races = true, .count = true});
  EXPECT_TRUE(report) << format_error(report.error());
  EXPECT_TRUE(report->clean());
  if (ticks != nullptr) {
    ticks->resize(32);
    EXPECT_TRUE((*loaded)->read(kTicks, *ticks));
  }
  return *report;
}

TEST(Probe, TrafficMovesTheBytesThatItClaims) {
  constexpr double kRow = 2 * 4 * 256 * 16 * 4;   // a round of two multiprocessors
  struct Case {
    Traffic traffic;
    double loads, stores;   // of each byte and pass
  };
  for (const Case& c : {Case{Traffic::kRead, 1, 0}, {Traffic::kWrite, 0, 1}, {Traffic::kCopy, 1, 1}, {Traffic::kReadL2, 1, 0}}) {
    uint64_t bytes = static_cast<uint64_t>(3.4 * kRow);
    const Probe probe = traffic_probe(c.traffic, bytes, 2, 2);
    EXPECT_EQ(static_cast<double>(bytes), 3 * kRow);
    EXPECT_EQ(probe.amount, (c.loads + c.stores) * 2 * 3 * kRow);
    const RunReport report = counted(probe.plan);
    EXPECT_EQ(static_cast<double>(report.total.global.load_bytes), c.loads * 2 * 3 * kRow);
    EXPECT_EQ(static_cast<double>(report.total.global.store_bytes), c.stores * 2 * 3 * kRow);
    EXPECT_EQ(32 * (report.total.global.sectors_load + report.total.global.sectors_store), static_cast<uint64_t>(probe.amount)) << "whole sectors";
  }
  uint64_t little = 1;
  EXPECT_EQ(traffic_probe(Traffic::kRead, little, 1, 1).amount, kRow / 2) << "at least a round";
}

TEST(Probe, ArithmeticDoesTheOperationsThatItClaims) {
  using C = emu::Counters;
  for (const auto& [kind, counted_as] : {std::pair{Arithmetic::kFp32, C::kFloat32}, {Arithmetic::kFp64, C::kFloat64}, {Arithmetic::kInt32, C::kInteger},
                                         {Arithmetic::kMmaFp16, C::kTensor}, {Arithmetic::kMmaBf16, C::kTensor}}) {
    std::vector<uint8_t> ticks;
    const Probe one = arithmetic_probe(kind, 1, 1), three = arithmetic_probe(kind, 3, 1);
    const C before = counted(one.plan).total, after = counted(three.plan, &ticks).total;
    const double more = three.amount - one.amount;
    if (counted_as == C::kTensor) {
      EXPECT_EQ(static_cast<double>(after.tensor_operations - before.tensor_operations), more);
    } else {   // two for each multiply-add; the loop's own counting beside integer ones
      const double loop = counted_as == C::kInteger ? 2 * 1024 : 0;
      EXPECT_EQ(2 * (static_cast<double>(after.thread_instructions[counted_as] - before.thread_instructions[counted_as]) - loop), more);
    }
    uint64_t seen[2];
    std::memcpy(seen, ticks.data(), sizeof seen);
    EXPECT_GT(seen[0], 0u);
    EXPECT_LT(seen[0], uint64_t{1} << 40) << "a difference, no time";
  }
}

TEST(Probe, LaunchesComeOneAfterAnother) {
  const Probe probe = launch_probe(5);
  EXPECT_EQ(counted(probe.plan).steps.size(), 5u);
  EXPECT_EQ(probe.plan.steps[4].after, std::vector<uint32_t>{3});
}

TEST(Calibration, ADeviceWithoutAClockIsRefused) {
  const auto emulator = make_emulator();
  const auto calibration = calibrate(*emulator, {.name = "an emulator", .target = "sm_90", .multiprocessors = 4});
  ASSERT_FALSE(calibration);
  EXPECT_EQ(calibration.error().code, ErrorCode::kUnsupported);
}

TEST(Calibration, IsTextAndBackAndTheBestCounts) {
  Calibration c{"GPU \"X\"", "sm_90", {{"DRAM read", "B/s", "1 GiB", 4e12, 3e12, 5e12, 11, 4.8e12, "driver"}, {"DRAM read", "B/s", "2 GiB", 4.5e12, 4e12, 5e12, 11, 0, ""},
                                       {"empty launch", "s", "", 3e-6, 2e-6, 4e-6, 11, 0, ""}, {"empty launch", "s", "", 2e-6, 2e-6, 4e-6, 11, 0, ""}}};
  c.between_processes = ProcessSpread{3e-8, 0.002, 12, 8e-6, 132};
  const auto back = calibration_of(to_json(c), "case");
  ASSERT_TRUE(back) << format_error(back.error());
  EXPECT_EQ(to_json(*back), to_json(c));
  EXPECT_EQ(back->best("DRAM read")->size, "2 GiB");
  ASSERT_TRUE(back->between_processes);
  EXPECT_EQ(back->between_processes->absolute_s, 3e-8);
  EXPECT_EQ(back->best("empty launch")->median, 2e-6);
  EXPECT_EQ(back->best("tea"), nullptr);
  for (const char* bad : {"", "{}", "[]", R"({"schema":"kernelwright/calibration/2","device":"","target":"","rates":[]})",
                          R"({"schema":"kernelwright/calibration/1","device":"","target":"","rates":[{"name":"a"}]})",
                          R"({"schema":"kernelwright/calibration/1","device":"","target":"","rates":[],"between_processes":{"absolute_s":-1,"relative":0,"processes":12}})",
                          R"({"schema":"kernelwright/calibration/1","device":"","target":"","rates":[],"between_processes":{}})"})
    EXPECT_FALSE(calibration_of(bad, "case")) << bad;
}

TEST(ProcessSpread, TellsWhatGrowsWithTheTimeFromWhatDoesNot) {
  constexpr double kOf = 1.4826;
  const ProcessSpread constant = process_spread_of({5e-6, 5.1e-6, 5.2e-6}, {50e-6, 50.1e-6, 50.2e-6});
  EXPECT_NEAR(constant.absolute_s, kOf * 0.1e-6, 1e-12);
  EXPECT_NEAR(constant.relative, 0, 1e-6);
  const ProcessSpread growing = process_spread_of({4.95e-6, 5e-6, 5.05e-6}, {49.5e-6, 50e-6, 50.5e-6});
  EXPECT_NEAR(growing.absolute_s, 0, 1e-12);
  EXPECT_NEAR(growing.relative, kOf * 0.01, 1e-6);
  EXPECT_EQ(growing.processes, 3);
  const ProcessSpread short_only = process_spread_of({4e-6, 5e-6, 6e-6}, {50e-6, 50e-6, 50e-6});
  EXPECT_NEAR(short_only.absolute_s, kOf * 1e-6, 1e-12) << "never less than none";
  EXPECT_EQ(short_only.relative, 0);
}

TEST(ProcessSpread, AProcessThatIsSlowThroughoutIsToldFromTheOthers) {
  const ProcessSpread spread = process_spread_of({5e-6, 5.04e-6, 5.08e-6, 5.06e-6, 6e-6}, {50e-6, 50.04e-6, 50.08e-6, 50.06e-6, 51e-6});
  EXPECT_LT(spread.absolute_s, 0.1e-6) << "one far away says nothing of the others";
  EXPECT_TRUE(spread.is_slow(6e-6));
  EXPECT_FALSE(spread.is_slow(5.08e-6));
  const ProcessSpread none = process_spread_of({5e-6, 5e-6}, {50e-6, 50e-6});
  EXPECT_FALSE(none.is_slow(5.1e-6)) << "a few ticks of the clock are nothing";
  EXPECT_TRUE(none.is_slow(5.3e-6));
}

TEST(Calibration, IsFoundForItsArchitecture) {
  const auto cache = TempDir::create();
  ASSERT_TRUE(cache);
  const char* before = std::getenv("KW_CACHE");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("KW_CACHE", cache->path().c_str(), 1);
  EXPECT_FALSE(stored_calibration("sm_90").value());
  ASSERT_TRUE(store({"GPU/../X", "sm_90", {{"DRAM read", "B/s", "1 GiB", 4e12}}}));
  EXPECT_FALSE(stored_process_spread("GPU/../X (sm_90)").value()) << "it was not calibrated in that respect";
  ASSERT_TRUE(store({"GPU/../Y", "sm_90", {{"DRAM read", "B/s", "1 GiB", 4e12}}, ProcessSpread{3e-8, 0.002, 12, 8e-6, 132}}));
  const auto spread = stored_process_spread("GPU/../Y (sm_90)").value();
  for (const char* other : {"GPU/../Y (sm_80)", "GPU/../Z (sm_90)", ""}) EXPECT_FALSE(stored_process_spread(other).value()) << other;
  ASSERT_TRUE(store({"GPU/../X", "sm_90", {{"DRAM read", "B/s", "1 GiB", 4e12}}}));   // the latest
  const auto found = stored_calibration("sm_90a").value();
  EXPECT_FALSE(stored_calibration("sm_80").value());
  EXPECT_FALSE(stored_calibration("abacus").value());
  for (const auto& [text, complaint] : {std::pair{std::string("{\"schema\": "), "is not a calibration"},
                                        {to_json({"Z", "sm_90", {{"DRAM read", "B/s", "1 GiB", 1e30}}}), "no GPU has a rate"},
                                        {to_json({"Z", "sm_90", {{"DRAM read", "B/s", "1 GiB", 0}}}), "no GPU has a rate"}}) {
    ASSERT_TRUE(write_file(*cache / "devices/broken.json", text));
    for (const auto& error : {stored_calibration("sm_90").error(), stored_process_spread("GPU/../Y (sm_90)").error()}) {
      EXPECT_NE(error.message.find(complaint), std::string::npos) << error.message;
      EXPECT_NE(error.message.find("devices/broken.json"), std::string::npos) << error.message;
    }
  }
  before == nullptr ? ::unsetenv("KW_CACHE") : ::setenv("KW_CACHE", kept.c_str(), 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->device, "GPU/../X");
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->processes, 12);
  EXPECT_EQ(found->best("DRAM read")->median, 4e12);
}

}  // namespace
}  // namespace kw::device
