#include "judge/energy.h"

#include <algorithm>
#include <cmath>

namespace kw::judge {
namespace {

constexpr int kRounds = 4, kFewestUpdates = 20, kPilot = 50, kMostRepeats = 10'000'000;
constexpr double kSettle_s = 0.5, kIdle_s = 2, kLoop_s = 1.2, kMostLoop_s = 5;

}  // namespace

Result<Energies> measure_energy(device::Device& gpu, size_t contestants, const EnergyLoop& loop) {
  (void)gpu.idle_power(kSettle_s);
  const device::Power idle = gpu.idle_power(kIdle_s);
  if (idle.watts <= 0 || idle.updates < 1) return fail(ErrorCode::kNotFound, "this device does not say what energy it used");
  Energies out;
  out.own.idle_w = idle.watts;
  out.own.update_s = idle.seconds / idle.updates;
  // A loop's first tenth is left out, and so is what lies beyond the first and the last update.
  out.own.loop_s = std::max(kLoop_s, 1.3 * kFewestUpdates * out.own.update_s);
  if (out.own.loop_s > kMostLoop_s) return fail(ErrorCode::kUnsupported, "the device's counter of energy is updated only every {:.3g} s", out.own.update_s);
  std::vector<int> repeats;
  for (size_t i = 0; i < contestants; ++i) {
    KW_TRY(const device::CallReport pilot, loop(i, kPilot));
    repeats.push_back(static_cast<int>(std::clamp(std::ceil(out.own.loop_s * kPilot / pilot.device_s), 1.0, double{kMostRepeats})));
  }
  std::vector<std::vector<double>> joules(contestants), ratios(contestants);
  std::vector<double> watts;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> both(contestants, 1);
    for (size_t i = 0; i < 2 * contestants; ++i) {
      const bool back = i >= contestants;
      const size_t who = (round % 2 == 1) != back ? contestants - 1 - i % contestants : i % contestants;
      KW_TRY(const device::CallReport report, loop(who, repeats[who]));
      const device::Power& power = report.power;
      if (power.updates < kFewestUpdates) return fail(ErrorCode::kUnsupported, "in {:.3g} s the device's counter of energy was updated {} times only", report.device_s, power.updates);
      if (power.watts <= idle.watts) return fail(ErrorCode::kUnsupported, "the device draws {:.4g} W at work and {:.4g} W idle", power.watts, idle.watts);
      joules[who].push_back((power.watts - idle.watts) * report.device_s / repeats[who]);
      both[who] *= joules[who].back();
      if (who == 0) watts.push_back(power.watts);
    }
    for (size_t k = 1; k < contestants; ++k) ratios[k].push_back(std::sqrt(both[k] / both[0]));
  }
  out.own.joules = interval_of(joules[0]);
  const auto [least, most] = std::minmax_element(joules[0].begin(), joules[0].end());
  out.own.spread = *most / *least - 1;
  out.own.loaded_w = median_of(watts);
  out.own.loops = static_cast<int>(joules[0].size());
  for (size_t k = 1; k < contestants; ++k) out.ratios.push_back(interval_of(ratios[k]));
  return out;
}

}  // namespace kw::judge
