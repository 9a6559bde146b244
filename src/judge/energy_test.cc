// Joules a call on a device whose counter is a script.
#include "judge/energy.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace kw::judge {
namespace {

class Meter final : public device::Device {
 public:
  device::Capabilities capabilities() const override { return {.name = "scripted", .times = true}; }
  Result<std::unique_ptr<device::LoadedPlan>> load(plan::Plan, const device::LoadOptions&) override { return fail(ErrorCode::kUnsupported, "no plans"); }
  device::Power idle_power(double seconds) override { return {idle_w, seconds, static_cast<int>(seconds / update_s)}; }
  double idle_w = 100, update_s = 0.1;
};

// Calls of 20 us at so many watts, with a little noise.
EnergyLoop at(const Meter& meter, std::vector<double> watts, std::vector<size_t>* order = nullptr) {
  return [&meter, watts, order, rng = Rng(3)](size_t who, int repeats) mutable -> Result<device::CallReport> {
    if (order != nullptr) order->push_back(who);
    device::CallReport report;
    report.completed = true;
    report.device_s = 20e-6 * repeats;
    report.power.watts = watts[who] * (1 + 1e-6 * (static_cast<double>(rng.below(4000)) - 2000));
    report.power.updates = static_cast<int>((report.device_s - 0.1) / meter.update_s) - 1;
    report.power.seconds = report.power.updates * meter.update_s;
    return report;
  };
}

TEST(Energy, IsWhatIsDrawnBeyondIdlePerCall) {
  Meter meter;
  const auto energy = measure_energy(meter, 1, at(meter, {300}));
  ASSERT_TRUE(energy) << format_error(energy.error());
  EXPECT_TRUE(energy->own.joules.contains(200 * 20e-6)) << energy->own.joules.low << " " << energy->own.joules.high;
  EXPECT_LT(energy->own.joules.width(), 0.01);
  EXPECT_EQ(energy->own.idle_w, 100);
  EXPECT_NEAR(energy->own.loaded_w, 300, 1);
  EXPECT_GE(energy->own.loop_s, 20 * meter.update_s);
  EXPECT_GT(energy->own.spread, 0);
  EXPECT_LT(energy->own.spread, 0.01);
  EXPECT_EQ(energy->own.loops, 8);
}

TEST(Energy, RivalsAreMeasuredInTurn) {
  Meter meter;
  std::vector<size_t> order;
  const auto energy = measure_energy(meter, 2, at(meter, {300, 350}, &order));
  ASSERT_TRUE(energy) << format_error(energy.error());
  EXPECT_EQ(std::vector<size_t>(order.begin(), order.begin() + 10), (std::vector<size_t>{0, 1, 0, 1, 1, 0, 1, 0, 0, 1}));
  ASSERT_EQ(energy->ratios.size(), 1u);
  EXPECT_TRUE(energy->ratios[0].contains(250.0 / 200)) << energy->ratios[0].low << " " << energy->ratios[0].high;
  EXPECT_GT(energy->ratios[0].low, 1.2);
  const auto same = measure_energy(meter, 2, at(meter, {300, 300}));
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->ratios[0].contains(1));
}

TEST(Energy, WithoutACounterThatTellsThereIsNone) {
  Meter none;
  none.idle_w = 0;
  EXPECT_FALSE(measure_energy(none, 1, at(none, {300})));
  Meter slow;
  slow.update_s = 1;
  EXPECT_FALSE(measure_energy(slow, 1, at(slow, {300})));
  Meter busy;
  busy.idle_w = 320;
  EXPECT_FALSE(measure_energy(busy, 1, at(busy, {300})));
  Meter meter;
  const auto few = measure_energy(meter, 1, [&](size_t, int repeats) -> Result<device::CallReport> {
    device::CallReport report;
    report.device_s = 20e-6 * repeats;
    report.power = {300, 1, 19};
    return report;
  });
  EXPECT_FALSE(few) << "a loop that saw nineteen updates";
}

}  // namespace
}  // namespace kw::judge
