// The rung that measures.
#include "judge/time_for_test.h"

namespace kw::judge {
namespace {

TEST_F(Time, AnHonestKernelHasFiguresWithIntervals) {
  std::set<uint64_t> turns, layouts;
  const RungResult result = time([&](const device::CallOptions& options, int count, device::CallReport& report) {
    report.device_s *= 1 + 0.001 * (count % 5);
    turns.insert(options.turn);
    layouts.insert(options.layout_seed);
    EXPECT_EQ(options.turned, std::vector<std::string>{"x"});
  });
  ASSERT_FALSE(result.failed) << defence(result);
  ASSERT_EQ(climb_.times.size(), 1u);
  const Timing& timing = climb_.times[0];
  EXPECT_GE(timing.groups, 8);
  EXPECT_GE(timing.calls, 8 * timing.groups);
  EXPECT_TRUE(timing.cold_s.contains(10.02e-6)) << timing.cold_s.low << " " << timing.cold_s.high;
  EXPECT_LT(timing.cold_s.width(), 0.015);
  EXPECT_GT(timing.cold_s.width(), 0.0064) << "the clock ticks every 32 ns";
  ASSERT_TRUE(timing.warm_s);
  EXPECT_TRUE(timing.warm_s->contains(8.016e-6)) << timing.warm_s->low << " " << timing.warm_s->high;
  EXPECT_NEAR(timing.floor_s, 0.512e-6, 1e-12);
  EXPECT_EQ(timing.launch_s, 10e-6);
  EXPECT_EQ(timing.conditions.slowed_by, std::vector<std::string>{"power cap"});
  EXPECT_GT(timing.conditions.sm_mhz_high, timing.conditions.sm_mhz_low);
  EXPECT_GT(turns.size(), 10u) << "contents of their own";
  EXPECT_GT(layouts.size(), turns.size()) << "two places a block";
  EXPECT_TRUE(turns.contains(0)) << "and those that were compared with the reference";
}

// Where a device was calibrated, what other processes would show is in the interval of a time, and of a ratio to another process's;
// two candidates of one process share it.
TEST_F(Time, ATimedOutputThatIsNotTheOneThatWasComparedIsSuspect) {
  EXPECT_EQ(defence(time([](const device::CallOptions& options, int, device::CallReport& report) {
              if (options.turn == 0) report.outputs[0].second ^= 1;   // in both calls of a block: they agree with each other
            })),
            "every timed output");
}

TEST_F(Time, TwoCallsOnTheSameContentsThatDifferAreSuspect) {
  EXPECT_EQ(defence(time([](const device::CallOptions& options, int count, device::CallReport& report) {
              if (options.turn != 0 && count % 32 == 31) report.outputs[0].first ^= 1;
            })),
            "every timed output");
}

TEST_F(Time, ClocksThatDisagreeAreSuspect) {
  const auto with = [&](double device, double host) {
    return defence(time([=](const device::CallOptions& options, int, device::CallReport& report) {
      if (options.cold) return;
      report.device_s *= device;
      report.host_s *= host;
    }));
  };
  EXPECT_EQ(with(1, 1), "");
  EXPECT_EQ(with(0.5, 1), "two clocks") << "work that the device's clock does not see";
  EXPECT_EQ(with(1, 0.5), "two clocks");
}

TEST_F(Time, OneBatchThatTheHostHeldUpIsNoDisagreement) {
  int batches = 0;
  EXPECT_EQ(defence(time([&](const device::CallOptions& options, int, device::CallReport& report) {
              if (!options.cold && ++batches == 3) report.host_s *= 4;
            })),
            "");
}

// A plan for PyTorch has no steps: here the candidate's stand for what PyTorch computes, where it is right.
// Calls of 30 us, of which the trace sees all but what events show beside every kernel.
TEST_F(Time, TheTraceIsAThirdFigure) {
  const auto slow = [](const device::CallOptions& options, int count, device::CallReport& report) {
    report.device_s *= 3 * (1 + 0.001 * (count % 5));
    report.host_s *= 3;
    if (options.trace) report.traced_s = report.device_s - kAround_s, report.device_s += 0.5e-6;
  };
  const RungResult result = time(slow);
  ASSERT_FALSE(result.failed) << defence(result);
  const Timing& timing = climb_.times.at(0);
  ASSERT_TRUE(timing.trace) << timing.untraced;
  EXPECT_NEAR(timing.trace->added_s, kAround_s, 1e-12);
  EXPECT_TRUE(timing.trace->kernels_s.contains(28.06e-6)) << timing.trace->kernels_s.low << " " << timing.trace->kernels_s.high;
  EXPECT_NEAR(timing.trace->agreement.middle, 28.56 / 28.06, 0.001);
  EXPECT_NEAR(timing.trace->slowed, 30.56 / 30.06, 0.001) << "what tracing costs";
}

TEST_F(Time, ATraceThatDisagreesIsSuspectWhereItCanBeTrusted) {
  // The candidate's calls take 10 us times `longer` by the events, and `by_trace` times that by the trace.
  const auto with = [&](double longer, double by_trace, double ours, double once = 1) {
    ours_ = [=](device::CallReport& report) { report.traced_s *= ours; };
    return defence(time([=, traced = 0](const device::CallOptions& options, int, device::CallReport& report) mutable {
      report.device_s *= longer;
      report.host_s *= longer;
      if (options.trace) report.traced_s = (report.device_s - kAround_s) * by_trace * (++traced == 4 ? once : 1);
    }));
  };
  // 100 us and 98.
  EXPECT_EQ(with(10, 1, 1), "");
  EXPECT_EQ(with(10, 1.04, 1), "") << "102, which is not 3 % beyond all that the events show";
  EXPECT_EQ(with(10, 1.06, 1), "two clocks") << "104: kernels that run on when the clock has stopped";
  EXPECT_EQ(with(10, 0.93, 1), "") << "91: not 5 us and 3 % less than the events show";
  EXPECT_EQ(with(10, 0.91, 1), "two clocks") << "89: kernels that the trace does not see";
  EXPECT_EQ(with(1, 1.4, 1), "") << "what is short is not told so well";
  EXPECT_EQ(with(10, 1, 1, 0.5), "") << "one call is none";
  EXPECT_EQ(with(10, 1.5, 1.5), "") << "it is off on a kernel of ours too";
  ASSERT_EQ(climb_.times.size(), 1u);
  EXPECT_FALSE(climb_.times[0].trace);
  EXPECT_NE(climb_.times[0].untraced.find("of ours"), std::string::npos) << climb_.times[0].untraced;
}

TEST_F(Time, WhereThereIsNoTraceItSaysWhy) {
  ours_ = [](device::CallReport& report) { report.traced_s = 0, report.untraced = "none is found"; };
  const RungResult result = time([](const device::CallOptions&, int, device::CallReport&) {});
  EXPECT_FALSE(result.failed);
  ASSERT_EQ(climb_.times.size(), 1u);
  EXPECT_FALSE(climb_.times[0].trace);
  EXPECT_EQ(climb_.times[0].untraced, "none is found");
}

TEST_F(Time, TracedCallsAreCheckedLikeOthers) {
  EXPECT_EQ(defence(time([](const device::CallOptions& options, int, device::CallReport& report) {
              if (options.trace) report.findings.push_back({.kind = emu::Finding::Kind::kOutOfBounds});
            })),
            "unsafe");
}

TEST_F(Time, EnergyIsMeasuredWhenAskedFor) {
  energy_ = true;
  int loops = 0;
  const RungResult result = time([&](const device::CallOptions& options, int, device::CallReport&) { loops += options.power; });
  ASSERT_FALSE(result.failed) << defence(result);
  ASSERT_TRUE(climb_.times.at(0).energy) << climb_.times[0].unmetered;
  EXPECT_NEAR(climb_.times[0].energy->joules.middle, 200 * 8e-6, 1e-9);
  EXPECT_EQ(loops, 9) << "one to see how long it takes";
  EXPECT_EQ(defence(time([](const device::CallOptions& options, int, device::CallReport& report) {
              if (options.power) report.findings.push_back({.kind = emu::Finding::Kind::kOutOfBounds});
            })),
            "unsafe");
  energy_ = false;
  time([](const device::CallOptions& options, int, device::CallReport&) { EXPECT_FALSE(options.power); });
  EXPECT_FALSE(climb_.times.at(0).energy);
}

TEST_F(Time, FasterThanMemoryIsSuspect) {
  EXPECT_EQ(defence(time([](const device::CallOptions&, int, device::CallReport&) {}, 512 / 9.8e-6)), "") << "at the floor";
  EXPECT_EQ(defence(time([](const device::CallOptions&, int, device::CallReport&) {}, 512 / 11e-6)), "physical floor");
}

TEST_F(Time, WhatFailsWhileTimedDecides) {
  EXPECT_EQ(defence(time([](const device::CallOptions&, int count, device::CallReport& report) {
              if (count == 40) report.findings.push_back({.kind = emu::Finding::Kind::kOutOfBounds});
            })),
            "unsafe");
  EXPECT_EQ(defence(time([](const device::CallOptions&, int count, device::CallReport& report) {
              if (count == 40) report.completed = false;
            })),
            "timeout");
}

}  // namespace
}  // namespace kw::judge
