#include "judge/interval.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace kw::judge {
namespace {

TEST(Interval, OfKnownValues) {
  const std::vector<double> groups = {std::exp(1.0), std::exp(2.0), std::exp(3.0)};   // logarithms 1, 2, 3: deviation 1
  const Interval interval = interval_of(groups);
  EXPECT_NEAR(interval.middle, std::exp(2.0), 1e-12);
  EXPECT_NEAR(std::log(interval.high), 2 + 9.925 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(std::log(interval.low), 2 - 9.925 / std::sqrt(3.0), 1e-9);
  EXPECT_EQ(interval_of(std::vector<double>{5.0, 5.0}).width(), 0);
  EXPECT_TRUE(interval_of(std::vector<double>{5.0}).contains(1e9)) << "one group says nothing";
}

TEST(Interval, AnIndependentErrorAddsAsSquares) {
  const Interval interval{10, 10 / 1.03, 10.3};
  EXPECT_NEAR(with_error(interval, 0.04).high, 10 * std::exp(std::hypot(std::log(1.03), std::log(1.04))), 1e-9);
  EXPECT_NEAR(with_error(interval, 0.04).low * with_error(interval, 0.04).high, 100, 1e-9);
  EXPECT_NEAR(with_error(interval, 0).high, 10.3, 1e-12);
  EXPECT_EQ(with_error(interval_of(std::vector<double>{5.0}), 0.1).low, 0) << "what is not known does not become known";
}

TEST(Interval, MediansOfEvenAndOddCounts) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median_of({7}), 7);
}

TEST(Interval, QuantilesGoOnSmoothlyBeyondTheTable) {
  EXPECT_NEAR(t_99(31), 2.744, 0.001);   // tables that go further
  EXPECT_NEAR(t_99(60), 2.660, 0.001);
  EXPECT_NEAR(t_99(1000), 2.581, 0.001);
  for (int n = 2; n < 200; ++n) EXPECT_LT(t_99(n), t_99(n - 1));
}

// The property that the intervals are there for, of skewed errors too, as times have.
TEST(Interval, HoldTheTrueValueAsOftenAsTheySay) {
  for (const bool skewed : {false, true}) {
    int held = 0;
    constexpr int kTrials = 2000;
    for (int trial = 0; trial < kTrials; ++trial) {
      Rng rng(static_cast<uint64_t>(trial) * 2 + skewed);
      std::vector<double> groups;
      for (int group = 0; group < 8; ++group) {
        std::vector<double> calls;
        for (int call = 0; call < 8; ++call) {
          const double u = static_cast<double>(rng.next() >> 11) * 0x1p-53;
          calls.push_back(skewed ? 1 + 0.02 * -std::log(1 - u) - 0.02 * std::log(2.0) : 1 + 0.05 * (u - 0.5));   // median 1
        }
        groups.push_back(median_of(calls));
      }
      held += interval_of(groups).contains(1);
    }
    EXPECT_GE(held, kTrials * (skewed ? 0.95 : 0.98)) << skewed;
    EXPECT_LE(held, kTrials * 0.998) << "wider than need be";
  }
}

}  // namespace
}  // namespace kw::judge
