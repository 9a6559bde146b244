// The rung that measures, on a device whose clock is a script: the emulator computes, the test says how long it took.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "judge/run_cases.h"
#include "problem/inputs.h"

namespace kw::judge {
namespace {

constexpr char kDouble[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry double(.param .u64 x, .param .u64 y)
{
  .reg .b32 %r<2>;
  .reg .f32 %f<2>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd1, %rd1, %rd3;
  add.u64 %rd2, %rd2, %rd3;
  ld.global.f32 %f1, [%rd1];
  add.f32 %f1, %f1, %f1;
  st.global.f32 [%rd2], %f1;
  ret;
}
)";
constexpr char kProblem[] = R"(problem twice: "x + x"

axes:
  N >= 1

inputs:
  x: f32[N] ~ normal(0, 1)

outputs:
  y: f32[N]

reference:
  y = x + x

workloads:
  smallest one: N=1
  real all: N=64 "a test"
)";

// What a call reports, given what the emulator computed; `count` says which call of all places it is.
constexpr double kAround_s = 2e-6;   // what events show beside a kernel
// The same for calls of the rung's own kernels that are traced.
using OursScript = std::function<void(device::CallReport& report)>;
using Script = std::function<void(const device::CallOptions& options, int count, device::CallReport& report)>;

class ScriptedPlan final : public device::LoadedPlan {
 public:
  ScriptedPlan(std::unique_ptr<device::LoadedPlan> inner, int& count, const Script& script, const OursScript& ours)
      : inner_(std::move(inner)), count_(count), script_(script), ours_(ours) {}
  const plan::Plan& plan() const override { return inner_->plan(); }
  Status write(std::string_view buffer, std::span<const uint8_t> bytes) override { return inner_->write(buffer, bytes); }
  Status read(std::string_view buffer, std::span<uint8_t> bytes) const override { return inner_->read(buffer, bytes); }
  Result<std::optional<uint64_t>> first_unwritten(std::string_view buffer) const override { return inner_->first_unwritten(buffer); }
  Status reset() override { return inner_->reset(); }
  Result<device::RunReport> run(const device::RunOptions& options) override { return inner_->run(options); }
  Result<device::CallReport> call(const device::CallOptions& options) override {
    device::CallOptions once = options;
    once.repeats = 1;
    KW_TRY(device::CallReport report, inner_->call(once));
    report.device_s = 10e-6 * (options.cold ? 1 : options.repeats * 0.8);
    if (!options.cold) report.host_s = report.device_s + 5e-6;
    if (options.power) report.power = {300, report.device_s, static_cast<int>(report.device_s / 0.02)};
    if (const plan::Buffer* read = plan().find_buffer("read"); read != nullptr) report.device_s = kAround_s + 1e-9 * static_cast<double>(read->bytes);
    if (options.trace) report.traced_s = report.device_s - kAround_s;
    if (plan().find_buffer("x") != nullptr) script_(options, count_++, report);
    else if (options.trace) ours_(report);
    return report;
  }

 private:
  std::unique_ptr<device::LoadedPlan> inner_;
  int& count_;
  const Script& script_;
  const OursScript& ours_;
};

class ScriptedDevice final : public device::Device {
 public:
  explicit ScriptedDevice(Script script) : script_(std::move(script)) {}
  device::Capabilities capabilities() const override { return {.name = "scripted", .times = true, .dram_bytes_per_s = bandwidth}; }
  Result<std::unique_ptr<device::LoadedPlan>> load(plan::Plan plan, const device::LoadOptions& options) override {
    if (instead) plan = instead(plan);
    KW_TRY(auto inner, inner_->load(std::move(plan), options));
    return std::unique_ptr<device::LoadedPlan>(std::make_unique<ScriptedPlan>(std::move(inner), count, script_, ours));
  }
  device::Conditions conditions() override { return {.sm_mhz = 1000.0 + count % 7, .slowed_by = {"power cap"}}; }
  device::Power idle_power(double seconds) override { return {100, seconds, static_cast<int>(seconds / 0.02)}; }
  double bandwidth = 1e9;   // 512 bytes take half a microsecond
  int count = 0;
  std::function<plan::Plan(const plan::Plan&)> instead;
  OursScript ours = [](device::CallReport&) {};

 private:
  std::unique_ptr<device::Device> inner_ = device::make_emulator();
  Script script_;
};

class Time : public testing::Test {
 protected:
  // The rung's result; figures are in climb_.times.
  RungResult time(Script script, double bandwidth = 1e9, std::vector<Script> rivals = {}) {
    auto problem = problem::parse_problem(kProblem, "case");
    if (!problem) {
      ADD_FAILURE() << format_error(problem.error());
      return {};
    }
    climb_ = Climb();
    climb_.problem = std::move(*problem);
    climb_.seed = 5;
    climb_.options.process_spread = spread_;
    device_ = std::make_shared<ScriptedDevice>(std::move(script));
    device_->bandwidth = bandwidth;
    device_->ours = ours_;
    climb_.options.gpu = device_;
    climb_.options.time = true;
    climb_.options.energy = energy_;
    climb_.options.time_budget_s = 0.2;
    Case c = case_of(*climb_.problem.find_workload("all"), false);
    c.plan.target = "sm_70";
    c.plan.modules.push_back({kDouble, plan::hash_of(kDouble)});
    c.plan.buffers.push_back({"x", plan::Role::kInput, 256, "float32", {64}, {1}});
    c.plan.buffers.push_back({"y", plan::Role::kOutput, 256, "float32", {64}, {1}});
    plan::Launch launch;
    launch.kernel = "double";
    launch.block = {64, 1, 1};
    launch.params.assign(16, 0);
    launch.relocations = {{0, {.buffer = 0}}, {8, {.buffer = 1}}};
    c.plan.steps.emplace_back().action = launch;
    climb_.real.push_back(std::move(c));
    // As rung full would have found it: computed here, not by the plan.
    const auto inputs = problem::make_inputs(climb_.problem, climb_.real[0].workload, input_seed(climb_, climb_.real[0]));
    EXPECT_TRUE(inputs);
    std::vector<uint8_t> y(256);
    for (int64_t i = 0; i < 64; ++i) {
      const auto twice = static_cast<float>(2 * (*inputs)[0].at(i));
      std::memcpy(y.data() + 4 * i, &twice, 4);
    }
    climb_.verified.push_back({0, {device::fingerprint_of(y, fingerprint_key(climb_))}});
    for (Script& rival : rivals) {
      Climb& other = *climb_.rivals.emplace_back(std::make_shared<Climb>(climb_));
      other.rivals.clear();
      other.candidate_path = "PyTorch";
      other.torch.emplace().style["all"] = "in f32";
      other.options.gpu = std::make_shared<ScriptedDevice>(std::move(rival));
    }
    auto result = time_rung(climb_);
    EXPECT_TRUE(result) << format_error(result.error());
    return result ? std::move(*result) : RungResult{};
  }
  std::string defence(const RungResult& result) const {
    if (!result.failed) return "";
    const auto* suspect = std::get_if<Suspect>(&*result.failed);
    return suspect == nullptr ? std::string(name_of(*result.failed)) : suspect->defence;
  }

  Climb climb_;
  OursScript ours_ = [](device::CallReport&) {};
  bool energy_ = false;
  std::optional<device::ProcessSpread> spread_;
  std::shared_ptr<ScriptedDevice> device_;
};

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
TEST_F(Time, ProcessesDiffer) {
  const auto script = [](const device::CallOptions&, int count, device::CallReport& report) { report.device_s *= 1 + 0.001 * (count % 5); };
  time(script, 1e9, {script});
  const Timing alone = climb_.times.at(0);
  EXPECT_FALSE(alone.process_s);
  spread_ = device::ProcessSpread{0.03e-6, 0.004, 12};
  time(script, 1e9, {script});
  const Timing& timing = climb_.times.at(0);
  ASSERT_TRUE(timing.process_s);
  EXPECT_NEAR(*timing.process_s, 3.106 * std::hypot(0.03e-6, 0.004 * timing.cold_s.middle), 1e-10);
  EXPECT_GT(timing.cold_s.width(), alone.cold_s.width() + 0.01);
  EXPECT_GT(timing.warm_s->width(), alone.warm_s->width() + 0.01);
  EXPECT_GT(timing.rivals.at(0).cold->width(), alone.rivals.at(0).cold->width() + 0.01) << "PyTorch is in a process of its own";
}

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

TEST_F(Time, ARivalOnADeviceOfItsOwnIsCalledInTurn) {
  std::string order;
  const RungResult result = time([&](const device::CallOptions& options, int, device::CallReport&) { order += options.cold && !options.trace ? "a" : ""; }, 1e9,
                                 {[&](const device::CallOptions&, int, device::CallReport& report) {
                                   report.device_s *= 2;
                                   order += "b";
                                 }});
  ASSERT_FALSE(result.failed) << defence(result);
  ASSERT_EQ(climb_.times.at(0).rivals.size(), 1u);
  const Ratio& ratio = climb_.times[0].rivals[0];
  EXPECT_EQ(ratio.rival, "PyTorch in f32");
  EXPECT_FALSE(ratio.sealed);
  ASSERT_TRUE(ratio.cold);
  EXPECT_TRUE(ratio.cold->contains(2)) << ratio.cold->low << " " << ratio.cold->high;
  EXPECT_TRUE(order.ends_with("abbabaababbabaab")) << order.substr(order.size() - 16);
}

TEST_F(Time, ARivalThatFailsWhenTimedHasNoTimeAndIsNoVerdict) {
  const auto why_not = [&](Script rival) {
    const RungResult result = time([](const device::CallOptions&, int, device::CallReport&) {}, 1e9, {std::move(rival)});
    EXPECT_FALSE(result.failed) << defence(result);
    const Ratio& ratio = climb_.times.at(0).rivals.at(0);
    EXPECT_FALSE(ratio.cold);
    EXPECT_GE(climb_.times[0].groups, 8) << "the candidate's own time is measured all the same";
    return ratio.why;
  };
  EXPECT_NE(why_not([](const device::CallOptions& options, int, device::CallReport& report) {
              if (options.turn == 0) report.outputs[0].second ^= 1;
            }).find("compared with the reference"),
            std::string::npos);
  EXPECT_NE(why_not([](const device::CallOptions&, int count, device::CallReport& report) {
              if (count == 40) report.outputs[0].second ^= 1;
            }).find("different bits"),
            std::string::npos);
  EXPECT_EQ(why_not([](const device::CallOptions&, int count, device::CallReport& report) { report.completed = count < 40; }), "when timed, it is timeout");
}

// A plan for PyTorch has no steps: here the candidate's stand for what PyTorch computes, where it is right.
TEST_F(Time, PyTorchIsTheFastestOfWhatIsRight) {
  (void)time([](const device::CallOptions&, int, device::CallReport&) {});
  climb_.verified.clear();
  const plan::Plan right = climb_.real[0].plan;
  const auto verified_as = [&](const std::string& right_styles, const std::string& fast_style) {
    std::string style;
    const auto device = std::make_shared<ScriptedDevice>([&](const device::CallOptions&, int, device::CallReport& report) { report.device_s *= style == fast_style ? 1 : 3; });
    device->instead = [&](const plan::Plan& plan) {
      style = plan.candidate.substr(6, plan.candidate.find(',') - 6);
      return right_styles.find(style) == std::string::npos ? plan : right;
    };
    climb_.rivals = {std::make_shared<Climb>()};
    Climb& rival = *climb_.rivals[0];
    rival.problem = climb_.problem;
    rival.seed = climb_.seed;
    rival.options.gpu = device;
    rival.torch.emplace();
    const auto full = full_rung(climb_);
    EXPECT_TRUE(full && !full->failed);
    EXPECT_EQ(rival.real.size(), rival.verified.size());
    return rival.verified.empty() ? rival.torch->why_not["all"] : rival.torch->style["all"];
  };
  EXPECT_EQ(verified_as("stored wide", "stored"), "in the stored dtypes");
  EXPECT_EQ(verified_as("stored wide", "wide"), "in f32");
  EXPECT_EQ(verified_as("wide", "stored"), "in f32");
  const std::string why = verified_as("", "wide");
  EXPECT_NE(why.find("computing in the stored dtypes: y[0] = "), std::string::npos) << why;
  EXPECT_NE(why.find("in f32: y[0] = "), std::string::npos) << why;
}

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
