#include "judge/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kw::judge {

double t_99(int degrees) {
  // Any table of Student's distribution, column 0.995.
  static constexpr std::array<double, 30> kTable = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
                                                    3.106,  3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845,
                                                    2.831,  2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750};
  if (degrees < 1) return std::numeric_limits<double>::infinity();
  if (degrees <= static_cast<int>(kTable.size())) return kTable[static_cast<size_t>(degrees - 1)];
  // Beyond the table by the expansion around the normal quantile z (Abramowitz and Stegun 26.7.5, two terms).
  constexpr double z = 2.575829;
  return z + (z * z * z + z) / (4 * degrees) + (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96.0 * degrees * degrees);
}

Interval interval_of(std::span<const double> groups) {
  if (groups.empty()) return {};
  const auto n = static_cast<double>(groups.size());
  double mean = 0, squares = 0;
  for (const double group : groups) mean += std::log(group) / n;
  for (const double group : groups) squares += (std::log(group) - mean) * (std::log(group) - mean);
  const double middle = std::exp(mean);
  if (groups.size() < 2) return {middle, 0, std::numeric_limits<double>::infinity()};
  const double half = t_99(static_cast<int>(groups.size()) - 1) * std::sqrt(squares / (n - 1) / n);
  return {middle, std::exp(mean - half), std::exp(mean + half)};
}

Interval with_error(const Interval& interval, double relative) {
  if (!(interval.low > 0)) return interval;
  const auto far = [&](double end) { return std::exp(std::hypot(std::log(end / interval.middle), std::log1p(relative))); };
  return {interval.middle, interval.middle / far(interval.low), interval.middle * far(interval.high)};
}

Interval widened(const Interval& interval, double relative) { return {interval.middle, interval.low * (1 - relative), interval.high * (1 + relative)}; }

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace kw::judge
