// A positive quantity that was measured in groups, with the interval that its true value lies in.
//
// The middle is the groups' geometric mean; the interval is 99 % by Student's t over the groups' logarithms, with one
// degree of freedom less than there are groups. Groups lie apart in time, so what drifts between them widens the interval. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace kw::judge {

struct Interval {
  double middle = 0, low = 0, high = 0;
  bool contains(double value) const { return low <= value && value <= high; }
  double width() const { return middle > 0 ? (high - low) / middle : 0; }   // relative
};

// Of at least two positive values; of fewer the interval is everything above 0, or empty.
Interval interval_of(std::span<const double> groups);

// With another error, independent of the groups', of this relative half-width.
Interval with_error(const Interval& interval, double relative);

// By so much of it at either end.
Interval widened(const Interval& interval, double relative);

double median_of(std::vector<double> values);   // not empty

// Student's t that 99 % lie within, two-sided.
double t_99(int degrees);

}  // namespace kw::judge
