// The rung that measures: rivals, and processes that differ.
#include "device/process_spread.h"
#include "judge/time_for_test.h"

namespace kw::judge {
namespace {

TEST_F(Time, ProcessesDiffer) {
  const auto script = [](const device::CallOptions&, int count, device::CallReport& report) { report.device_s *= 1 + 0.001 * (count % 5); };
  time(script, 1e9, {script});
  const Timing alone = climb_.times.at(0);
  EXPECT_FALSE(alone.process_s);
  spread_ = device::ProcessSpread{0.03e-6, 0.004, 12, 1, 1};
  time(script, 1e9, {script});
  const Timing& timing = climb_.times.at(0);
  ASSERT_TRUE(timing.process_s);
  EXPECT_NEAR(*timing.process_s, 3.106 * std::hypot(0.03e-6, 0.004 * timing.cold_s.middle), 1e-10);
  EXPECT_GT(timing.cold_s.width(), alone.cold_s.width() + 0.01);
  EXPECT_GT(timing.warm_s->width(), alone.warm_s->width() + 0.01);
  EXPECT_GT(timing.rivals.at(0).cold->width(), alone.rivals.at(0).cold->width() + 0.01) << "PyTorch is in a process of its own";
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

// A process whose kernels are slow throughout is left before anything is timed in it, by all that would be timed in it.
TEST_F(Time, ASlowProcessIsLeft) {
  const auto script = [](const device::CallOptions&, int, device::CallReport&) {};
  const auto other = std::make_shared<ScriptedDevice>(script);
  const auto short_s = device::short_time(*other, 1);
  ASSERT_TRUE(short_s);
  spread_ = device::ProcessSpread{0.01e-6, 0, 12, *short_s, 1};
  next_ = other;
  time(script);
  EXPECT_EQ(climb_.options.gpu, device_) << "it is like most";
  slow_s_ = 1e-6;
  EXPECT_FALSE(time(script).failed);
  EXPECT_EQ(climb_.options.gpu, other);
  next_ = nullptr;
  EXPECT_FALSE(time(script).failed) << "there is no other";
  EXPECT_EQ(climb_.times.size(), 1u);
}

}  // namespace
}  // namespace kw::judge
