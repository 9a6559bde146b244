#include <cmath>
#include <nlohmann/json.hpp>

#include "base/demangle.h"
#include "base/source_text.h"
#include "profile/profile.h"

namespace kw::profile {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const problem::Workload& workload) {
  ordered_json axes = ordered_json::object();
  for (const auto& [name, value] : workload.axes) axes[name] = value;
  return {{"name", workload.name}, {"axes", axes}};
}

ordered_json json_of(const Advice& advice) {
  ordered_json place = nullptr;
  if (advice.line != 0) place = {{"file", printable_text(advice.file)}, {"line", advice.line}};
  return {{"tool", advice.tool}, {"kernel", advice.kernel}, {"place", place}, {"saw", advice.saw}, {"try", advice.try_this},
          {"gain", {{"value", advice.gain}, {"grade", name_of(Grade::kEstimated)}}}, {"question", advice.question}};
}

ordered_json json_of(const Metric& metric) {
  return {{"name", metric.name}, {"value", metric.value}, {"unit", metric.unit}, {"source", metric.source}, {"grade", name_of(metric.grade)}, {"kernel", metric.kernel}};
}

ordered_json json_of(const Timeline& timeline) {
  ordered_json steps = ordered_json::array();
  for (const device::TracedStep& step : timeline.steps) steps.push_back({{"kernel", printable_text(readable_name(step.kernel))}, {"begin", step.begin_s}, {"end", step.end_s}});
  return {{"seconds", timeline.seconds}, {"busy", timeline.busy}, {"overlapped", timeline.overlapped}, {"gaps", timeline.gaps()}, {"grade", name_of(Grade::kMeasured)}, {"steps", std::move(steps)}};
}

}  // namespace

std::string to_json(const Profile& profile) {
  const Subject& s = profile.subject;
  const Roofline& r = profile.roofline;
  ordered_json out = {{"schema", "kernelwright/profile/1"}, {"problem", s.problem->name}, {"candidate", printable_text(s.candidate)}, {"target", s.target->name},
                      {"part", s.target->part.product}, {"workload", json_of(s.workload)}, {"counted_workload", s.uncounted.empty() ? json_of(s.counted_workload) : ordered_json(nullptr)}};
  out["counted_as"] = s.uncounted.empty() ? ordered_json(name_of(s.counted_as)) : ordered_json(nullptr);
  out["sample"] = nullptr;
  if (s.uncounted.empty() && s.counted_as == CountedAs::kSampled) out["sample"] = {{"blocks", s.sampled_blocks}, {"of", s.all_blocks}};
  out["uncounted"] = s.uncounted.empty() ? ordered_json(nullptr) : ordered_json(s.uncounted);
  out["class"] = {{"name", name_of(r.by_problem)}, {"by_counters", r.by_counters ? ordered_json(name_of(*r.by_counters)) : ordered_json(nullptr)}, {"bound", name_of(r.bound)}, {"counters_of", r.memory_share ? "ncu" : r.by_counters ? "estimate" : "nothing"},
                  {"conflict", r.conflict.empty() ? ordered_json(nullptr) : ordered_json(r.conflict)}};
  out["roofline"] = {{"bytes", r.bytes}, {"operations", r.operations}, {"matmul_operations", r.matmul_operations}, {"intensity", r.intensity()},
                     {"ridge", r.ridge()}, {"peak", r.peak}, {"operations_per_second", r.operations_per_second}, {"bytes_per_second", r.bytes_per_second},
                     {"bytes_measured_on", r.bytes_measured_on.empty() ? ordered_json(nullptr) : ordered_json(r.bytes_measured_on)},
                     {"operations_measured_on", r.operations_measured_on.empty() ? ordered_json(nullptr) : ordered_json(r.operations_measured_on)}};
  out["time"] = {{"seconds", s.uncounted.empty() ? ordered_json(s.seconds) : ordered_json(nullptr)}, {"floor_seconds", r.floor_seconds()}, {"grade", name_of(Grade::kEstimated)}};
  out["measured"] = nullptr;
  if (s.measured) {
    out["measured"] = {{"seconds", s.measured->seconds}, {"low", s.measured->low}, {"high", s.measured->high}, {"calls", s.measured->calls},
                       {"launch_seconds", s.measured->launch_seconds}, {"device", s.device->name}, {"grade", name_of(Grade::kMeasured)}};
  }
  out["timeline"] = s.measured && s.measured->timeline ? json_of(*s.measured->timeline) : ordered_json(nullptr);
  out["counters"] = nullptr;
  if (s.counter_reading) {
    const CounterReading& c = *s.counter_reading;
    out["counters"] = {{"ncu", printable_text(c.version)}, {"launches", c.launches}, {"without", c.without}, {"why_not", c.why_not.empty() ? ordered_json(nullptr) : ordered_json(c.why_not)}};
  }
  out["conflicts"] = profile.conflicts;
  out["advice"] = ordered_json::array();
  for (const Advice& advice : profile.advice) out["advice"].push_back(json_of(advice));
  out["metrics"] = ordered_json::array();
  for (const Metric& metric : profile.metrics) out["metrics"].push_back(json_of(metric));
  out["notes"] = s.notes;
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace kw::profile
