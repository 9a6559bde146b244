#include "device/process_spread.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/probe.h"

namespace kw::device {
namespace {

constexpr int kGroups = 12, kCalls = 8;   // as rung time measures: code and memory new for each group
constexpr double kDeadline_s = 30;
constexpr uint64_t kShort = uint64_t{8} << 20, kLong = uint64_t{512} << 20;   // bytes that are read
// Deviations. A slow process is slower by 0.7 to 1.4 us where the others' deviate by 0.05 to 0.2: one that is taken for slow and is not
// costs a second, one that is not found out a wrong time.
constexpr double kFar = 3.5;

double mean_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()); }

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// As if the values far away were not there.
double robust_variance_of(const std::vector<double>& values) {
  constexpr double kOfNormal = 1.4826;   // a normal distribution's deviation over the median of absolute ones
  std::vector<double> away;
  for (const double value : values) away.push_back(kOfNormal * std::abs(value - median_of(values)));
  return median_of(away) * median_of(away);
}

Result<double> group_of(LoadedPlan& loaded, int group) {
  std::vector<double> seconds;
  for (int i = 0; i < kCalls; ++i) {
    CallOptions call;
    call.deadline_s = kDeadline_s;
    call.cold = true;
    call.afresh = i == 0;
    call.layout_seed = static_cast<uint64_t>(group * kCalls + i + 1);
    KW_TRY(const CallReport report, loaded.call(call));
    if (!report.completed || report.device_s <= 0) return fail(ErrorCode::kIo, "a kernel of the calibration did not end as it should");
    seconds.push_back(report.device_s);
  }
  return median_of(std::move(seconds));
}

Result<double> time_of(Device& device, uint64_t bytes, int multiprocessors) {
  KW_TRY(const auto loaded, device.load(traffic_probe(Traffic::kRead, bytes, 1, multiprocessors).plan, {.track_initialised = false}));
  KW_TRY_VOID(group_of(*loaded, kGroups));   // clocks rise with work
  std::vector<double> groups;
  for (int i = 0; i < kGroups; ++i) {
    KW_TRY(const double seconds, group_of(*loaded, i));
    groups.push_back(seconds);
  }
  return mean_of(groups);
}

}  // namespace

double ProcessSpread::deviation_s(double seconds) const { return std::hypot(absolute_s, relative * seconds); }

bool ProcessSpread::is_slow(double seconds) const { return seconds > short_s + kFar * std::max(deviation_s(short_s), kTick_s); }

Result<double> short_time(Device& device, int multiprocessors) { return time_of(device, kShort, multiprocessors); }

ProcessSpread process_spread_of(const std::vector<double>& short_s, const std::vector<double>& long_s) {
  const double of_short = robust_variance_of(short_s), of_long = robust_variance_of(long_s), t0 = median_of(short_s), t1 = median_of(long_s);
  // variance = absolute² + (relative × t)², at both.
  ProcessSpread out;
  const double relative = std::max(0.0, (of_long - of_short) / (t1 * t1 - t0 * t0));
  out.relative = std::sqrt(relative);
  out.absolute_s = std::sqrt(std::max(0.0, of_short - relative * t0 * t0));
  out.processes = static_cast<int>(short_s.size());
  out.short_s = t0;
  return out;
}

Result<ProcessSpread> measure_process_spread(const std::function<Result<std::unique_ptr<Device>>()>& begin, int processes, int multiprocessors) {
  std::vector<double> short_s, long_s;
  for (int i = 0; i < processes; ++i) {
    KW_TRY(const auto device, begin());
    KW_TRY(const double small, short_time(*device, multiprocessors));
    KW_TRY(const double large, time_of(*device, kLong, multiprocessors));
    short_s.push_back(small);
    long_s.push_back(large);
  }
  ProcessSpread out = process_spread_of(short_s, long_s);
  out.multiprocessors = multiprocessors;
  return out;
}

}  // namespace kw::device
