// Joules a call of contestants, in turn. What the device draws when idle is measured first and taken off; each loop of calls lasts a
// second and at least twenty updates of the device's counter of energy; A B B A, then B A A B. Thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "judge/verdict.h"

namespace kw::judge {

// So many calls of a contestant one right after the other, with CallOptions::power.
using EnergyLoop = std::function<Result<device::CallReport>(size_t contestant, int repeats)>;

struct Energies {
  Timing::Energy own;             // of contestant 0
  std::vector<Interval> ratios;   // of each of the others: its joules over that one's
};
// An Error says why there is no figure, or is the loop's own.
Result<Energies> measure_energy(device::Device& gpu, size_t contestants, const EnergyLoop& loop);

}  // namespace kw::judge
