#include "profile/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>

#include "base/check.h"
#include "device/probe.h"
#include "problem/inputs.h"

namespace kw::profile {
namespace {

constexpr double kWarmUp_s = 0.05, kMost_s = 2;
constexpr int kFewest = 5, kMost = 31, kTraced = 5;
constexpr double kDeadline_s = 60;
std::mutex g_one_at_a_time;

double part_of(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

// Seconds of cold calls.
Result<std::vector<double>> times_of(device::LoadedPlan& loaded) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto since = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::vector<double> times;
  double warm_until = kWarmUp_s;
  for (uint64_t i = 1; static_cast<int>(times.size()) < kMost && (static_cast<int>(times.size()) < kFewest || since() < kMost_s); ++i) {
    device::CallOptions call;
    call.layout_seed = i;
    call.deadline_s = kDeadline_s;
    KW_TRY(const device::CallReport report, loaded.call(call));
    if (!report.completed || !report.findings.empty()) {
      return fail(ErrorCode::kInvalid, "the candidate cannot be timed: {}", report.findings.empty() ? "it did not end in time" : report.findings.front().message);
    }
    if (since() < warm_until && i < 100) continue;   // clocks rise with work
    warm_until = 0;
    times.push_back(report.device_s);
  }
  return times;
}

Result<double> around_nothing(device::Device& gpu) {
  KW_TRY(const auto loaded, gpu.load(device::launch_probe(1).plan, {}));
  KW_TRY(const std::vector<double> times, times_of(*loaded));
  return part_of(times, 0.5);
}

Status trace(device::LoadedPlan& loaded, Measured& out) {
  std::vector<Timeline> all;
  for (int i = 0; i < kTraced; ++i) {
    device::CallOptions call;
    call.trace = true;
    call.deadline_s = kDeadline_s;
    KW_TRY(device::CallReport report, loaded.call(call));
    if (!report.completed) return fail(ErrorCode::kInvalid, "the candidate cannot be traced: a call did not end in time");
    if (report.traced.empty()) {
      out.untraced = report.untraced.empty() ? "the trace has no step" : report.untraced;
      return {};
    }
    all.push_back(timeline_of(std::move(report.traced)));
  }
  std::sort(all.begin(), all.end(), [](const Timeline& a, const Timeline& b) { return a.seconds < b.seconds; });
  out.timeline = std::move(all[all.size() / 2]);
  return {};
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return values[i] < values[j]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t k = i; k < end; ++k) ranks[order[k]] = 0.5 * static_cast<double>(i + end - 1);
    i = end;
  }
  return ranks;
}

}  // namespace

Result<std::unique_ptr<device::LoadedPlan>> load_with_inputs(device::Device& device, const problem::Problem& problem, const problem::Workload& workload,
                                                             const plan::Plan& plan, uint64_t seed) {
  KW_TRY(const auto inputs, problem::make_inputs(problem, workload, seed));
  device::LoadOptions load;
  load.track_initialised = false;
  KW_TRY(auto loaded, device.load(plan, load));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (plan.find_buffer(problem.inputs[i].name) == nullptr) continue;
    const auto bytes = inputs[i].bytes();
    KW_TRY_VOID(loaded->write(problem.inputs[i].name, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
  }
  return loaded;
}

Result<Measured> measure(device::Device& gpu, const problem::Problem& problem, const problem::Workload& workload, const plan::Plan& plan, uint64_t seed) {
  if (!gpu.capabilities().times) return fail(ErrorCode::kUnsupported, "{} has no clock: times need a GPU", gpu.capabilities().name);
  const std::lock_guard lock(g_one_at_a_time);
  KW_TRY(const auto loaded, load_with_inputs(gpu, problem, workload, plan, seed));
  KW_TRY(const std::vector<double> times, times_of(*loaded));
  Measured out{part_of(times, 0.5), part_of(times, 0.25), part_of(times, 0.75), 0, static_cast<int>(times.size()), {}, {}};
  KW_TRY_VOID(trace(*loaded, out));
  KW_TRY(out.launch_seconds, around_nothing(gpu));
  return out;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  KW_CHECK(a.size() == b.size());
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = 0.5 * (static_cast<double>(a.size()) - 1);
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace kw::profile
