#include "agent/report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "agent/line_diff.h"
#include "base/json_fields.h"
#include "base/source_text.h"
#include "search/objective.h"

namespace kw::agent {
namespace {

constexpr std::string_view kTimeOf = "time of ";

// The run as the store has it.
struct Run {
  store::RunRow row;
  Settings settings;
  store::Rows rows;
  std::map<search::NodeId, search::Evaluated> tried;   // the start is node 0

  const store::VerdictRow* verdict(search::NodeId node) const {
    const auto at = std::find_if(rows.verdicts.begin(), rows.verdicts.end(), [&](const auto& each) { return each.node == node; });
    return at == rows.verdicts.end() ? nullptr : &*at;
  }
  std::map<std::string, const store::MetricRow*> times(search::NodeId node) const {
    std::map<std::string, const store::MetricRow*> out;
    for (const store::MetricRow& metric : rows.metrics)
      if (metric.node == node && metric.name.starts_with(kTimeOf)) out[metric.name.substr(kTimeOf.size())] = &metric;
    return out;
  }
  search::NodeId best() const {
    std::vector<const search::Outcome*> outcomes;
    std::vector<search::NodeId> nodes;
    for (const auto& [node, what] : tried) {
      outcomes.push_back(&what.outcome);
      nodes.push_back(node);
    }
    const size_t at = search::best_of(outcomes, outcomes.size());
    return at == outcomes.size() ? search::kRoot : nodes[at];
  }
  bool works(search::NodeId node) const { return tried.contains(node) && search::usable(tried.at(node).outcome); }
  double seconds(search::NodeId node) const { return works(node) ? tried.at(node).outcome.seconds : NAN; }
  std::string state(search::NodeId node) const {
    const auto at = std::find_if(rows.nodes.begin(), rows.nodes.end(), [&](const auto& each) { return each.index == static_cast<int64_t>(node); });
    return at == rows.nodes.end() ? "?" : at->state;
  }
};

Result<Run> read(store::Store& store, int64_t id) {
  Run run;
  KW_TRY(run.row, store.run(id));
  KW_TRY(run.settings, settings_from(run.row.options));
  KW_TRY(run.rows, store.rows(id));
  KW_TRY(const Recorded recorded, recorded_of(run.settings, run.rows));
  if (recorded.root) {
    search::Evaluated start;
    start.proposal = {run.settings.kernel, "the start", 0.5};
    start.outcome = recorded.root->outcome;
    run.tried[search::kRoot] = start;
  }
  for (const search::Event& event : recorded.events)
    if (const auto* what = std::get_if<search::Evaluated>(&event.what)) run.tried[what->node] = *what;
  return run;
}

std::string state_of(search::NodeId node, const Run& run) {
  if (node == search::kRoot) return run.settings.kernel;
  const search::Evaluated& what = run.tried.at(node);
  return what.outcome.made.empty() ? what.proposal.state : what.outcome.made;   // older runs do not have it
}

Best best_of(const Run& run, std::string source) {
  Best out;
  out.node = run.best();
  out.source = std::move(source);
  out.works = run.works(out.node);
  if (out.works && run.works(search::kRoot)) out.gain = run.seconds(search::kRoot) / run.seconds(out.node);
  out.grade = run.settings.gpu ? profile::Grade::kMeasured : profile::Grade::kEstimated;
  return out;
}

// Names and texts come from files of anybody.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : printable_text(text)) {
    if (std::string_view("|\\`*<>[]&").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string ladder_text(const std::string& verdict) {
  const nlohmann::json json = parse_json(verdict);
  if (!json.is_object() || !json.contains("ladder") || !json["ladder"].is_array()) return "";
  std::string out = "| rung | result | what it saw |\n|---|---|---|\n";
  JsonFields fields;
  for (const auto& rung : json["ladder"])
    out += fmt::format("| {} | {} | {} |\n", cell(fields.words(rung, "rung")), cell(fields.words(rung, "status")), cell(fields.words(rung, "detail")));
  return out;
}

size_t longest_run(const std::string& text, char of) {
  size_t longest = 0, now = 0;
  for (const char c : text) longest = std::max(longest, now = c == of ? now + 1 : 0);
  return longest;
}

std::string by(const Run& run) { return run.settings.gpu ? "measured" : "by estimate: no GPU was used"; }

std::string text_of(const Run& run, const Best& best, const std::string& start_source, const std::string& verdict) {
  std::string out = fmt::format("# {}: ", cell(run.settings.problem_file));
  if (!best.works) out += "nothing that was tried is right\n\n";
  else if (best.node == search::kRoot) out += "the start is the best that was found\n\n";
  else out += fmt::format("{:.2f} times as fast, {}\n\n", best.gain, by(run));
  out += fmt::format("Run {}, from {} for {}: {} of {} candidates evaluated{}, strategy {}, seed {}.\n", run.row.id, cell(run.settings.kernel_file), cell(run.settings.target),
                     run.tried.empty() ? 0 : run.tried.size() - 1, run.settings.evaluations, run.row.state == store::RunState::kFinished ? "" : " so far", run.settings.strategy,
                     run.settings.seed);
  if (best.works) {
    out += fmt::format("{} The best is node {}.\n\n| workload | start | best | ratio |\n|---|---|---|---|\n",
                       run.settings.gpu ? "Times are measured, from cold."
                                        : "Times are estimates: no GPU was used. Nor were the real sizes run: right is what the judge found so at shapes that an emulator can run "
                                          "(`kw judge --gpu` runs them).",
                       best.node);
    const auto before = run.times(search::kRoot), after = run.times(best.node);
    for (const auto& [workload, metric] : after) {
      const auto was = before.find(workload);
      const bool known = was != before.end() && metric->value > 0;
      out += fmt::format("| {} | {} | {} | {} |\n", cell(workload), known ? duration_text(was->second->value) : "", duration_text(metric->value),
                         known ? fmt::format("{:.2f}", was->second->value / metric->value) : "");
    }
    out += "\n## Its verdict\n\n" + ladder_text(verdict);
    const std::string diff = line_diff(start_source, best.source);
    if (!diff.empty()) {
      const std::string fence(longest_run(diff, '`') + 3, '`');   // nothing in it ends it
      out += fmt::format("\n## What differs from the start\n\n{}diff\n{}{}\n", fence, printable_text(diff), fence);
    }
  }
  out += "\n## What was tried\n\n| node | from | change | verdict | time | start / it |\n|---|---|---|---|---|---|\n";
  for (const auto& [node, what] : run.tried) {
    const bool works = run.works(node), start = run.works(search::kRoot);
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", node, node == search::kRoot ? "" : std::to_string(what.parent), cell(what.proposal.idea), cell(run.state(node)),
                       works ? duration_text(run.seconds(node)) : "", works && start ? fmt::format("{:.2f}", run.seconds(search::kRoot) / run.seconds(node)) : "");
  }
  return out;
}

}  // namespace

std::string duration_text(double seconds) {
  for (const auto& [scale, unit] : {std::pair{1.0, "s"}, {1e3, "ms"}})
    if (seconds * scale >= 1) return fmt::format("{:.4g} {}", seconds * scale, unit);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

Result<Best> best_of_run(SharedStore& shared, int64_t id) {
  return shared.with([&](store::Store& store) -> Result<Best> {
    KW_TRY(const Run run, read(store, id));
    KW_TRY(std::string source, store.object(state_of(run.best(), run)));
    return best_of(run, std::move(source));
  });
}

Result<std::string> report(SharedStore& shared, int64_t id) {
  return shared.with([&](store::Store& store) -> Result<std::string> {
    KW_TRY(const Run run, read(store, id));
    KW_TRY(std::string source, store.object(state_of(run.best(), run)));
    const Best best = best_of(run, std::move(source));
    KW_TRY(const std::string start, store.object(run.settings.kernel));
    const store::VerdictRow* row = run.verdict(best.node);
    std::string verdict;
    if (row != nullptr) {
      KW_TRY(verdict, store.object(row->verdict));
    }
    return text_of(run, best, start, verdict);
  });
}

}  // namespace kw::agent
