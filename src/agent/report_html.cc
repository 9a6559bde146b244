#include "agent/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agent/html.h"
#include "agent/roofs_svg.h"

namespace kw::agent {
namespace {

constexpr Html::Markup kHead = R"(<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root { color-scheme: light dark; --ink: #1c2024; --quiet: #60666d; --paper: #fff; --line: #d9dde1; --good: #12703a; --bad: #a32020; --tint: #f3f5f7; --plus: #e3f5e7; --minus: #fbe6e6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ea; --quiet: #9aa2aa; --paper: #15181b; --line: #33393f; --good: #5fcf8b; --bad: #ff8a80; --tint: #1e2226; --plus: #16321f; --minus: #3b1c1c; }
}
body { margin: 0 auto; padding: 1rem; max-width: 60rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
.result { font-size: 1.7rem; font-weight: 600; margin: .2rem 0; line-height: 1.2; }
.quiet, .grade { color: var(--quiet); }
.grade { font-size: .75em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 500; }
td.number { white-space: nowrap; }
.passed { color: var(--good); } .failed { color: var(--bad); }
tr.path td, .tree .path { font-weight: 600; }
.tree { list-style: none; padding: 0; margin: 0; }
.tree li { padding-left: calc(var(--depth) * 1rem); overflow-wrap: anywhere; }
pre { overflow-x: auto; background: var(--tint); padding: .6rem 0; font-size: .85rem; line-height: 1.4; tab-size: 4; }
pre span { display: block; padding: 0 .8rem; min-width: max-content; }
pre .plus { background: var(--plus); } pre .minus { background: var(--minus); } pre .place { color: var(--quiet); }
.roofs { width: 100%; min-width: 32rem; max-width: 44rem; height: auto; font: 12px system-ui, sans-serif; }
.roofs text { fill: var(--ink); } .roofs .tick { fill: var(--quiet); } .roofs .middle { text-anchor: middle; } .roofs .end { text-anchor: end; }
.roofs .grid { stroke: var(--line); } .roofs .roof { stroke: var(--ink); stroke-width: 2; } .roofs .way { stroke: var(--good); stroke-dasharray: 3 3; }
.roofs .start { fill: var(--paper); stroke: var(--ink); stroke-width: 2; } .roofs .best { fill: var(--good); }
</style>
)";

constexpr size_t kDeepestShown = 20;

class Page {
 public:
  explicit Page(const ReportData& data) : data_(data), path_(nodes_of(path_to(data.attempts, data.best.node))) {}

  std::string str() {
    const Settings& settings = data_.settings;
    out_ << "<!doctype html>\n<html lang=\"en\">\n<head>\n" << kHead << "<title>" << settings.problem_file << ": " << data_.headline() << "</title>\n</head>\n<body>\n";
    out_ << "<h1>" << settings.problem_file << "</h1>\n<p class=\"result\">" << data_.headline() << "</p>\n";
    out_ << "<p class=\"quiet\">Run " << std::to_string(data_.run) << ", from " << settings.kernel_file << " for " << settings.target
         << fmt::format(": {} of {} candidates evaluated{}, strategy ", data_.evaluated(), settings.evaluations, data_.ended ? "" : " so far") << settings.strategy
         << fmt::format(", seed {}.", settings.seed) << "</p>\n";
    if (!settings.model.spec.empty()) out_ << "<p class=\"quiet\">Model: " << settings.model.spec << ", " << data_.spending() << ".</p>\n";
    if (data_.best.works) result();
    tree();
    log();
    out_ << "</body>\n</html>\n";
    return out_.str();
  }

 private:
  static std::set<search::NodeId> nodes_of(const std::vector<search::NodeId>& path) { return {path.begin(), path.end()}; }

  // Beside every number that comes from a time.
  void grade() {
    if (data_.best.grade == profile::Grade::kMeasured) out_ << " <span class=\"grade\">measured</span>";
    else out_ << " <span class=\"grade\">estimate</span>";
  }
  void number(const std::string& text) {
    out_ << "<td class=\"number\">" << text;
    if (!text.empty()) grade();
    out_ << "</td>";
  }
  void time(std::optional<double> seconds) { number(seconds ? duration_text(*seconds) : std::string()); }
  void ratio(std::optional<double> value) { number(value ? fmt::format("{:.2f}", *value) : std::string()); }
  void cell(const std::string& text) { out_ << "<td>" << text << "</td>"; }

  void result() {
    out_ << "<p>" << data_.basis() << fmt::format(" The best is node {}.", data_.best.node) << "</p>\n";
    if (!data_.workloads.empty()) {
      out_ << "<h2>Workloads</h2>\n<div class=\"wide\"><table>\n<tr><th>workload</th><th>start</th><th>best</th><th>start / best</th></tr>\n";
      for (const WorkloadTimes& each : data_.workloads) {
        out_ << "<tr>";
        cell(each.workload);
        time(each.start);
        time(each.best);
        ratio(each.gain());
        out_ << "</tr>\n";
      }
      out_ << "</table></div>\n";
    }
    if (!data_.rivals.empty()) rivals();
    if (data_.roofs) roofs(*data_.roofs);
    if (!data_.ladder.empty()) ladder();
    if (!data_.difference.empty()) difference();
  }

  void rivals() {
    out_ << "<h2>Against others</h2>\n<div class=\"wide\"><table>\n<tr><th>workload</th><th>rival</th><th>its time / the best's</th></tr>\n";
    for (const RivalRatio& each : data_.rivals) {
      out_ << "<tr>";
      cell(each.workload);
      cell(each.rival);
      if (each.ratio) number(fmt::format("{:.2f} ({:.2f} to {:.2f})", *each.ratio, each.low, each.high));
      else cell(each.why);
      out_ << "</tr>\n";
    }
    out_ << "</table></div>\n";
  }

  void roofs(const Roofs& roofs) {
    out_ << "<h2>Under the roofs</h2>\n<div class=\"wide\">" << roofs_svg(roofs, data_.best.grade) << "</div>\n<p class=\"quiet\">Ring: the start. Disc: the best. Memory of " << roofs.memory_source << "; arithmetic of "
         << roofs.compute_source << ". Bytes are those that no implementation can leave alone, operations those of the reference.</p>\n";
    out_ << "<div class=\"wide\"><table>\n<tr><th></th><th>workload</th><th>operations a byte</th><th>Top/s allowed</th><th>start reaches</th><th>best reaches</th></tr>\n";
    const auto share = [&](std::optional<double> attained, double allowed) { number(attained ? fmt::format("{:.0f} %", 100 * *attained / allowed) : std::string()); };
    for (size_t i = 0; i < roofs.points.size(); ++i) {
      const Roofs::Point& each = roofs.points[i];
      out_ << "<tr>";
      cell(std::to_string(i + 1));
      cell(each.workload);
      cell(fmt::format("{:.3g}", each.intensity));
      cell(fmt::format("{:.3g}", each.allowed * 1e-12));
      share(each.start, each.allowed);
      share(each.best, each.allowed);
      out_ << "</tr>\n";
    }
    out_ << "</table></div>\n";
  }

  void ladder() {
    out_ << "<h2>Its verdict</h2>\n<div class=\"wide\"><table>\n<tr><th>rung</th><th>result</th><th>what it saw</th></tr>\n";
    for (const RungLine& each : data_.ladder) {
      out_ << "<tr>";
      cell(each.rung);
      out_ << "<td class=\"" << (each.status == "passed" || each.status == "failed" ? each.status : std::string("quiet")) << "\">" << each.status << "</td>";
      cell(each.detail);
      out_ << "</tr>\n";
    }
    out_ << "</table></div>\n";
  }

  void difference() {
    out_ << "<h2>What differs from the start</h2>\n<pre>";
    const std::string_view text = data_.difference;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view line = text.substr(begin, end - begin);
      begin = end + 1;
      if (line.starts_with('+')) out_ << "<span class=\"plus\">";
      else if (line.starts_with('-')) out_ << "<span class=\"minus\">";
      else if (line.starts_with('@')) out_ << "<span class=\"place\">";
      else out_ << "<span>";
      out_ << line << "</span>";
    }
    out_ << "</pre>\n";
  }

  // Candidates below those that they were made from. Not by recursion: a search may be deep.
  void tree() {
    if (data_.attempts.empty()) return;
    out_ << "<h2>The search</h2>\n<p class=\"quiet\">Bold: the way to the best. Ratios: how many times as fast as the start.</p>\n<ul class=\"tree\">\n";
    std::map<search::NodeId, std::vector<search::NodeId>> children;
    std::vector<std::pair<search::NodeId, size_t>> todo;
    for (auto each = data_.attempts.rbegin(); each != data_.attempts.rend(); ++each) {
      const search::NodeId parent = each->second.parent;
      if (parent < each->first && data_.attempts.contains(parent)) children[parent].push_back(each->first);   // it comes before its children
      else todo.emplace_back(each->first, 0);
    }
    while (!todo.empty()) {
      const auto [node, depth] = todo.back();
      todo.pop_back();
      branch(node, std::min(depth, kDeepestShown));
      for (const search::NodeId child : children[node]) todo.emplace_back(child, depth + 1);
    }
    out_ << "</ul>\n";
  }

  void branch(search::NodeId node, size_t depth) {
    const Attempt& attempt = data_.attempts.at(node);
    out_ << "<li style=\"--depth:" << std::to_string(depth) << "\"" << path_class(node) << ">" << fmt::format("{} ", node) << attempt.idea << " <span class=\""
         << std::string(attempt.works() ? "passed" : "quiet") << "\">";
    const auto gain = gain_of(data_.attempts, node);
    if (gain) out_ << fmt::format("{:.2f}", *gain);
    else out_ << attempt.verdict;
    out_ << "</span>";
    if (gain) grade();
    if (node == data_.best.node && data_.best.works) out_ << " &#9733; the best";
    out_ << "</li>\n";
  }

  Html path_class(search::NodeId node) const {
    Html out;
    if (data_.best.works && path_.contains(node)) out << " class=\"path\"";
    return out;
  }

  void log() {
    out_ << "<h2>What was tried</h2>\n<p class=\"quiet\">Times are the geometric mean over the workloads.</p>\n<div class=\"wide\"><table>\n<tr><th>node</th><th>from</th><th>change</th><th>verdict</th><th>time</th><th>start / it</th></tr>\n";
    for (const auto& [node, attempt] : data_.attempts) {
      out_ << "<tr" << path_class(node) << ">";
      cell(std::to_string(node));
      cell(node == search::kRoot ? std::string() : std::to_string(attempt.parent));
      cell(attempt.idea);
      cell(attempt.verdict);
      time(attempt.works() ? std::optional(attempt.outcome.seconds) : std::nullopt);
      ratio(gain_of(data_.attempts, node));
      out_ << "</tr>\n";
    }
    out_ << "</table></div>\n";
  }

  const ReportData& data_;
  std::set<search::NodeId> path_;
  Html out_;
};

}  // namespace

std::string html(const ReportData& data) { return Page(data).str(); }

}  // namespace kw::agent
