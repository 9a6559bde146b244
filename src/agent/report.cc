#include "agent/report.h"

#include <algorithm>

#include "agent/fence.h"
#include "agent/report_html.h"
#include "base/source_text.h"

namespace kw::agent {
namespace {

// Names and texts come from files of anybody.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : printable_text(text)) {
    if (std::string_view("|\\`*<>[]&").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string ratio_text(std::optional<double> ratio) { return ratio ? fmt::format("{:.2f}", *ratio) : ""; }
std::string time_text(std::optional<double> seconds) { return seconds ? duration_text(*seconds) : ""; }

std::string rivals_text(const ReportData& data) {
  std::string out = "\n## Against others\n\n| workload | rival | its time / the best's |\n|---|---|---|\n";
  for (const RivalRatio& each : data.rivals)
    out += fmt::format("| {} | {} | {} |\n", cell(each.workload), cell(each.rival), each.ratio ? fmt::format("{:.2f} ({:.2f} to {:.2f})", *each.ratio, each.low, each.high) : cell(each.why));
  return out;
}

std::string roofs_text(const Roofs& roofs, profile::Grade grade) {
  std::string out = fmt::format("\n## Under the roofs\n\nMemory moves {:.4g} GB/s ({}), and arithmetic does ", roofs.bytes_per_second * 1e-9, cell(roofs.memory_source));
  for (const Roofs::Compute& each : roofs.compute) out += fmt::format("{}{:.4g} Top/s with {}", &each == roofs.compute.data() ? "" : ", ", each.operations_per_second * 1e-12, cell(each.of));
  out += fmt::format(" ({}). What start and best reach of what is allowed is {}.\n\n| workload | operations a byte | Top/s allowed | start | best |\n|---|---|---|---|---|\n",
                     cell(roofs.compute_source), profile::name_of(grade));
  const auto share = [](std::optional<double> attained, double allowed) { return attained ? fmt::format("{:.0f} %", 100 * *attained / allowed) : ""; };
  for (const Roofs::Point& each : roofs.points)
    out += fmt::format("| {} | {:.3g} | {:.3g} | {} | {} |\n", cell(each.workload), each.intensity, each.allowed * 1e-12, share(each.start, each.allowed), share(each.best, each.allowed));
  return out;
}

std::string markdown(const ReportData& data) {
  const Settings& settings = data.settings;
  std::string out = fmt::format("# {}: {}\n\n", cell(settings.problem_file), data.headline());
  out += fmt::format("Run {}, from {} for {}: {} of {} candidates evaluated{}, strategy {}, seed {}.\n", data.run, cell(settings.kernel_file), cell(settings.target),
                     data.evaluated(), settings.evaluations, data.ended ? "" : " so far", cell(settings.strategy), settings.seed);
  const bool model = !settings.model.spec.empty();
  if (model) out += "Model: " + cell(settings.model.spec) + ", " + data.spending() + ".\n";
  if (data.best.works) {
    out += fmt::format("{} The best is node {}.\n\n| workload | start | best | ratio |\n|---|---|---|---|\n", data.basis(), data.best.node);
    for (const WorkloadTimes& each : data.workloads)
      out += fmt::format("| {} | {} | {} | {} |\n", cell(each.workload), time_text(each.start), time_text(each.best), ratio_text(each.gain()));
    if (!data.rivals.empty()) out += rivals_text(data);
    if (data.roofs) out += roofs_text(*data.roofs, data.best.grade);
    out += "\n## Its verdict\n\n";
    if (!data.ladder.empty()) out += "| rung | result | what it saw |\n|---|---|---|\n";
    for (const RungLine& each : data.ladder) out += fmt::format("| {} | {} | {} |\n", cell(each.rung), cell(each.status), cell(each.detail));
    if (!data.difference.empty()) out += "\n## What differs from the start\n\n" + fenced(data.difference, "diff");
  }
  // A model's steps have more to say than a verdict: what was repaired, what the reviewer thinks.
  out += fmt::format("\n## What was tried\n\n| node | from | change | verdict | time | start / it |{}\n|---|---|---|---|---|---|{}\n", model ? " remark |" : "", model ? "---|" : "");
  for (const auto& [node, attempt] : data.attempts) {
    out += fmt::format("| {} | {} | {} | {} | {} | {} |{}\n", node, node == search::kRoot ? "" : std::to_string(attempt.parent), cell(attempt.idea), cell(attempt.verdict),
                       attempt.works() ? duration_text(attempt.outcome.seconds) : "", ratio_text(gain_of(data.attempts, node)), model ? " " + cell(attempt.outcome.learned) + " |" : "");
  }
  return out;
}

}  // namespace

std::string written(const ReportData& data, Form form) { return form == Form::kHtml ? html(data) : markdown(data); }

Form form_of(std::string_view name) {
  constexpr std::string_view kEnd = ".html";
  if (name.size() < kEnd.size()) return Form::kMarkdown;
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; };
  return std::equal(kEnd.begin(), kEnd.end(), name.end() - kEnd.size(), [&](char b, char a) { return same(a, b); }) ? Form::kHtml : Form::kMarkdown;
}

Result<Best> best_of_run(SharedStore& store, int64_t run) {
  KW_TRY(ReportData data, report_data(store, run));
  return std::move(data.best);
}

Result<std::string> report(SharedStore& store, int64_t run, Form form) {
  KW_TRY(const ReportData data, report_data(store, run));
  return written(data, form);
}

}  // namespace kw::agent
