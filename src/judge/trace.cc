#include "judge/trace.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace kw::judge {
namespace {

// Calls that are traced; from which time on the clocks must agree and how well. Events may show a little more than kernels of ours
// tell: code that comes from memory, stores that drain.
constexpr int kCalls = 9;
constexpr double kFrom_s = 20e-6, kRelative = 0.03, kMore_s = 5e-6;
constexpr double kOurs_s = 60;   // deadline of our own kernels, the loading of a library included

// A kernel of ours that reads `bytes` of memory: what no candidate's kernel had a hand in.
plan::Plan known_reader(uint64_t bytes) {
  plan::Plan plan;
  plan.target = "sm_70";
  plan.modules.push_back({device::kFingerprintPtx, plan::hash_of(device::kFingerprintPtx)});
  plan.buffers.push_back({"read", plan::Role::kWorkspace, bytes, "", {}, {}});
  plan.buffers.push_back({"sums", plan::Role::kWorkspace, 16, "", {}, {}});
  plan::Launch launch;
  launch.kernel = device::kFingerprintKernel;
  launch.block = {256, 1, 1};
  launch.grid = {static_cast<uint32_t>(std::clamp<uint64_t>(bytes / 4 / 256, 1, 1024)), 1, 1};
  launch.params.assign(32, 0);
  std::memcpy(launch.params.data() + 8, &bytes, 8);
  launch.relocations = {{0, {.buffer = 0}}, {24, {.buffer = 1}}};
  plan.steps.emplace_back().action = launch;
  return plan;
}

// One call by two clocks.
struct Traced {
  double events_s = 0, kernels_s = 0;
};

Interval agreement_of(const std::vector<Traced>& calls, double added_s) {
  std::vector<double> ratios;
  for (const Traced& call : calls) ratios.push_back(std::max(call.events_s - added_s, kTick_s) / call.kernels_s);
  return interval_of(ratios);
}

double median_over(const std::vector<Traced>& calls, double (*figure)(const Traced&)) {
  std::vector<double> values;
  for (const Traced& call : calls) values.push_back(figure(call));
  return median_of(std::move(values));
}

// An Error says why there is no trace.
Result<std::vector<Traced>> traced(const std::function<Result<device::CallReport>()>& call) {
  std::vector<Traced> out;
  for (int i = 0; i < kCalls; ++i) {
    KW_TRY(const device::CallReport report, call());
    if (report.traced_s <= 0) return fail(ErrorCode::kNotFound, "{}", report.untraced.empty() ? "a call did not end" : report.untraced);
    out.push_back({report.device_s, report.traced_s});
  }
  return out;
}

// Of a kernel of ours that takes about this long.
Result<std::vector<Traced>> traced_reader(device::Device& gpu, double deadline_s, double seconds) {
  const double bandwidth = std::max(gpu.capabilities().dram_bytes_per_s, 1e9);
  KW_TRY(const auto reader, gpu.load(known_reader(static_cast<uint64_t>(bandwidth * seconds)), {.track_initialised = false}));
  device::CallOptions call;
  call.trace = true;
  call.deadline_s = std::max(kOurs_s, deadline_s);
  return traced([&] { return reader->call(call); });
}

}  // namespace

Result<Timing::Trace> measure_trace(device::Device& gpu, double deadline_s, double cold_s, const std::function<Result<device::CallReport>()>& call) {
  Timing::Trace trace;
  KW_TRY(const auto shorter, traced_reader(gpu, deadline_s, kFrom_s));
  trace.added_s = median_over(shorter, [](const Traced& each) { return each.events_s - each.kernels_s; });
  KW_TRY(const auto longer, traced_reader(gpu, deadline_s, 3 * kFrom_s));
  const Interval ours = agreement_of(longer, trace.added_s);
  if (std::abs(ours.middle - 1) > kRelative) {
    return fail(ErrorCode::kInvalid, "of a kernel of ours the events say {:.4g} times what the trace says: one of them is off", ours.middle);
  }
  KW_TRY(const auto calls, traced(call));
  std::vector<double> kernels;
  for (const Traced& each : calls) kernels.push_back(each.kernels_s);
  trace.kernels_s = widened(interval_of(kernels), kTick_s / median_of(kernels));
  trace.agreement = agreement_of(calls, trace.added_s);
  trace.slowed = median_over(calls, [](const Traced& each) { return each.events_s; }) / cold_s;
  return trace;
}

std::optional<std::string> disagreement(const Timing::Trace& trace) {
  // All of the interval: a call that was held up between the two clocks is no disagreement.
  const double kernels_s = trace.kernels_s.middle;
  const bool longer_than_seen = trace.agreement.high + trace.added_s / kernels_s < 1 - kRelative;   // no kernel runs beyond the events around it
  const bool more_than_traced = trace.agreement.low - kMore_s / kernels_s > 1 + kRelative;
  if (kernels_s <= kFrom_s || (!longer_than_seen && !more_than_traced)) return std::nullopt;
  return fmt::format("the kernels of a call ran {:.6g} s by the device's record of them, and the time by its events is {:.4g} times that", kernels_s, trace.agreement.middle);
}

}  // namespace kw::judge
