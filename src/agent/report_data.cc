#include "agent/report_data.h"

#include <algorithm>
#include <cmath>

#include "agent/line_diff.h"
#include "arch/target.h"
#include "base/json_fields.h"
#include "profile/roofline.h"

namespace kw::agent {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kTimeOf = "time of ";

std::optional<double> positive(double value) { return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt; }

std::optional<double> ratio(std::optional<double> of, std::optional<double> to) { return of && to ? positive(*of / *to) : std::nullopt; }

// Of a node, by workload.
std::map<std::string, double> times_of(const store::Rows& rows, search::NodeId node) {
  std::map<std::string, double> out;
  for (const store::MetricRow& metric : rows.metrics)
    if (metric.node == node && metric.name.starts_with(kTimeOf)) out[metric.name.substr(kTimeOf.size())] = metric.value;
  return out;
}

std::vector<WorkloadTimes> times_of_both(const store::Rows& rows, search::NodeId best) {
  const auto before = times_of(rows, search::kRoot);
  std::vector<WorkloadTimes> out;
  for (const auto& [workload, seconds] : times_of(rows, best)) {
    const auto was = before.find(workload);
    out.push_back({workload, was == before.end() ? std::nullopt : positive(was->second), positive(seconds)});
  }
  return out;
}

// What was made of the state; older runs say it of the state alone, which then is the source.
const std::string& source_of(const search::Evaluated& what) { return what.outcome.made.empty() ? what.proposal.state : what.outcome.made; }

Attempts attempts_of(const Settings& settings, const store::Rows& rows, const Recorded& recorded) {
  Attempts out;
  if (recorded.root) out[search::kRoot] = {search::kRoot, settings.kernel, "the start", "?", recorded.root->outcome};
  for (const search::Event& event : recorded.events)
    if (const auto* what = std::get_if<search::Evaluated>(&event.what)) out[what->node] = {what->parent, source_of(*what), what->proposal.idea, "?", what->outcome};
  for (const store::NodeRow& node : rows.nodes)
    if (const auto at = out.find(static_cast<search::NodeId>(node.index)); at != out.end() && at->first == node.index) at->second.verdict = node.state;
  return out;
}

// Members of a verdict (docs/formats/verdict.md). What is not there, or no such thing, is left out.
const Json& at(const Json& json, const char* name) {
  static const Json kNone;
  const auto found = json.is_object() ? json.find(name) : json.end();
  return json.is_object() && found != json.end() ? *found : kNone;
}
std::optional<double> number(const Json& json) { return json.is_number() ? positive(json.get<double>()) : std::nullopt; }
std::string words(const Json& json) { return json.is_string() ? json.get<std::string>() : ""; }

std::vector<RungLine> ladder_of(const Json& verdict) {
  std::vector<RungLine> out;
  for (const Json& rung : at(verdict, "ladder")) out.push_back({words(at(rung, "rung")), words(at(rung, "status")), words(at(rung, "detail"))});
  return out;
}

std::vector<RivalRatio> rivals_of(const Json& verdict) {
  std::vector<RivalRatio> out;
  for (const Json& time : at(at(verdict, "outcome"), "times")) {
    for (const Json& rival : at(time, "rivals")) {
      const Json& cold = at(rival, "cold");
      out.push_back({words(at(at(time, "workload"), "name")), words(at(rival, "rival")), number(at(cold, "middle")), number(at(cold, "low")).value_or(0),
                     number(at(cold, "high")).value_or(0), words(at(rival, "why"))});
    }
  }
  return out;
}

// What was measured stands under the roof of the device itself: its driver says how fast its memory is, and so how long the bytes
// of a workload take at least.
std::optional<double> floor_seconds(const Json& verdict, const std::string& workload) {
  for (const Json& time : at(at(verdict, "outcome"), "times"))
    if (words(at(at(time, "workload"), "name")) == workload) return number(at(time, "floor_s"));
  return std::nullopt;
}

// "sm_90" of "NVIDIA H200 (sm_90)".
std::string architecture_of(const std::string& device) {
  const size_t open = device.rfind('('), close = device.rfind(')');
  return open == std::string::npos || close == std::string::npos || close < open ? "" : device.substr(open + 1, close - open - 1);
}

std::optional<Roofs> roofs_of(const ReportData& data, const std::string& problem_text, const Json& verdict) {
  const auto problem = problem::parse_problem(problem_text, data.settings.problem_file);
  const std::string device = words(at(verdict, "gpu"));
  const auto target = arch::find_target(data.settings.gpu ? architecture_of(device) : data.settings.target);
  if (!problem || !target) return std::nullopt;
  const std::string specified = fmt::format("{}, as specified", (*target)->part.product);
  Roofs out;
  out.memory_source = data.settings.gpu ? device + ", by its driver" : specified;
  out.compute_source = specified;
  for (const WorkloadTimes& times : data.workloads) {
    const problem::Workload* workload = problem->find_workload(times.workload);
    if (workload == nullptr) continue;
    const auto roofline = profile::roofline(*problem, *workload, **target);
    if (!roofline || roofline->needed_bytes <= 0 || roofline->operations <= 0 || roofline->operations_per_second <= 0) continue;
    const auto floor = floor_seconds(verdict, times.workload);
    const double bandwidth = !data.settings.gpu ? roofline->bytes_per_second : floor ? roofline->needed_bytes / *floor : 0;
    if (bandwidth <= 0) continue;
    out.bytes_per_second = std::max(out.bytes_per_second, bandwidth);
    const auto same = [&](const Roofs::Compute& each) { return each.of == roofline->peak && std::abs(each.operations_per_second / roofline->operations_per_second - 1) < 0.01; };
    const auto roof = std::find_if(out.compute.begin(), out.compute.end(), same);
    Roofs::Point point{times.workload, roofline->operations / roofline->needed_bytes, static_cast<size_t>(roof - out.compute.begin()), {}, {}, 0};
    if (roof == out.compute.end()) out.compute.push_back({roofline->peak, roofline->operations_per_second});
    point.start = ratio(roofline->operations, times.start);
    point.best = ratio(roofline->operations, times.best);
    point.allowed = std::min(bandwidth * point.intensity, roofline->operations_per_second);
    out.points.push_back(std::move(point));
  }
  return out.points.empty() ? std::nullopt : std::optional(std::move(out));
}

Result<ReportData> read(store::Store& store, int64_t id) {
  ReportData data;
  KW_TRY(const store::RunRow row, store.run(id));
  KW_TRY(data.settings, settings_of(row));
  KW_TRY(const store::Rows rows, store.rows(id));
  data.spent = spent_of(rows.exchanges);
  KW_TRY(const Recorded recorded, recorded_of(data.settings, rows));
  data.run = id;
  data.ended = row.state == store::RunState::kFinished;
  data.attempts = attempts_of(data.settings, rows, recorded);
  Best& best = data.best;
  best.node = best_of(data.attempts);
  best.grade = data.settings.gpu ? profile::Grade::kMeasured : profile::Grade::kEstimated;
  const auto at_best = data.attempts.find(best.node);
  best.works = at_best != data.attempts.end() && at_best->second.works();
  best.gain = gain_of(data.attempts, best.node).value_or(1);
  KW_TRY(best.source, store.object(at_best == data.attempts.end() ? data.settings.kernel : at_best->second.source));
  if (!best.works) return data;
  KW_TRY(const std::string start, store.object(data.settings.kernel));
  data.difference = line_diff(start, best.source);
  data.workloads = times_of_both(rows, best.node);
  // The last word on it: judge_best_again() may have added one.
  const auto row_of_best = std::find_if(rows.verdicts.rbegin(), rows.verdicts.rend(), [&](const auto& each) { return each.node == best.node; });
  Json verdict;
  if (row_of_best != rows.verdicts.rend()) {
    KW_TRY(const std::string text, store.object(row_of_best->verdict));
    verdict = parse_json(text);
  }
  data.ladder = ladder_of(verdict);
  data.rivals = rivals_of(verdict);
  KW_TRY(const std::string problem_text, store.object(data.settings.problem));
  data.roofs = roofs_of(data, problem_text, verdict);
  return data;
}

}  // namespace

search::NodeId best_of(const Attempts& attempts) {
  std::vector<const search::Outcome*> outcomes;
  std::vector<search::NodeId> nodes;
  for (const auto& [node, attempt] : attempts) {
    outcomes.push_back(&attempt.outcome);
    nodes.push_back(node);
  }
  const size_t best = search::best_of(outcomes, outcomes.size());
  return best == outcomes.size() ? search::kRoot : nodes[best];
}

std::vector<search::NodeId> path_to(const Attempts& attempts, search::NodeId node) {
  std::vector<search::NodeId> out;
  for (auto each = attempts.find(node); each != attempts.end(); each = attempts.find(each->second.parent)) {
    if (!out.empty() && each->first >= out.back()) break;   // a parent comes before its children
    out.push_back(each->first);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::optional<double> gain_of(const Attempts& attempts, search::NodeId node) {
  const auto start = attempts.find(search::kRoot), other = attempts.find(node);
  if (start == attempts.end() || other == attempts.end() || !start->second.works() || !other->second.works()) return std::nullopt;
  return start->second.outcome.seconds / other->second.outcome.seconds;
}

std::optional<double> WorkloadTimes::gain() const { return ratio(start, best); }

std::string ReportData::headline() const {
  if (!best.works) return evaluated() == 0 ? "nothing was tried yet" : "nothing that was tried is right";
  if (best.node == search::kRoot) return "the start is the best that was found";
  if (!gain_of(attempts, best.node)) return attempts.at(search::kRoot).verdict == "no kernel" ? "a kernel that is right, from nothing" : "a kernel that is right; the start is not";
  return fmt::format("{:.2f} times as fast, {}", best.gain, settings.gpu ? "measured" : "by estimate: no GPU was used");
}

std::string ReportData::spending() const {
  std::string out = fmt::format("{} exchanges, {} tokens in and {} out", spent.exchanges, spent.input_tokens, spent.output_tokens);
  if (spent.money > 0) out += fmt::format(", {:.2f} US dollars", spent.money);
  return out;
}

std::string ReportData::basis() const {
  if (settings.gpu) return "Times are measured, from cold.";
  return "Times are estimates: no GPU was used. Nor were the real sizes run: right is what the judge found so at shapes that an emulator can run "
         "(`kw judge --gpu` runs them).";
}

std::string duration_text(double seconds) {
  for (const auto& [scale, unit] : {std::pair{1.0, "s"}, {1e3, "ms"}})
    if (seconds * scale >= 1) return fmt::format("{:.4g} {}", seconds * scale, unit);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

Result<ReportData> report_data(SharedStore& shared, int64_t run) {
  return shared.with([&](store::Store& store) { return read(store, run); });
}

}  // namespace kw::agent
