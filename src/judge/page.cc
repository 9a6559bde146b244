#include "judge/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/source_text.h"
#include "emu/finding_text.h"
#include "judge/element.h"

namespace kw::judge {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kShownGroups = 3;
constexpr std::ptrdiff_t kFindingLines = 56;   // of a page; the first group is shown however long

std::string wrap(std::string_view text, std::string_view indent) { return kw::wrap(text, indent, kColumns); }

// The lines around a place, the place marked.
std::string excerpt(const SourceText& source, const std::string& file, uint32_t line) {
  if (!source || file.empty() || line == 0) return "";
  return kw::excerpt(source(file), line, "    ", kColumns);
}

std::ptrdiff_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

std::string index_text(const std::vector<int64_t>& index) { return fmt::format("[{}]", fmt::join(index, ", ")); }

std::string place_text(const SourcePlace& place) {
  if (place.file.empty()) return "";
  if (place.line == 0) return place.file;
  return place.column > 0 ? fmt::format("{}:{}:{}", place.file, place.line, place.column) : fmt::format("{}:{}", place.file, place.line);
}

// The last lines of what a program printed.
std::string last_lines(const std::string& printed) {
  constexpr size_t kLines = 6, kWidth = kColumns - 8;
  std::vector<std::string> lines;
  std::istringstream in(printable_text(printed));
  for (std::string line; std::getline(in, line);) {
    std::replace(line.begin(), line.end(), '\t', ' ');
    if (line.find_first_not_of(' ') != std::string::npos) lines.push_back(line.size() > kWidth ? line.substr(0, kWidth) + "…" : line);
  }
  std::string out;
  for (size_t i = lines.size() - std::min(lines.size(), kLines); i < lines.size(); ++i) out += "    | " + printable_text(lines[i]) + "\n";
  return out.empty() ? out : "  what it printed last:\n" + out;
}

std::string minimal_text(const Minimal& minimal, const WorkloadName& judged) {
  const std::string effort = fmt::format("({} run{})", minimal.runs, minimal.runs == 1 ? "" : "s");
  if (minimal.workload.axes == judged.axes && minimal.workload.name == judged.name) return "no smaller shape was found to fail " + effort;
  const std::string changed = minimal.workload.name == judged.name ? "" : fmt::format(" with {}", minimal.workload.name);
  return fmt::format("smallest failing shape found: {}{} {}: {}", minimal.workload.axes_text(), changed, effort, element_text(minimal.first));
}

std::string seconds_text(double s) {
  if (s < 1e-3) return fmt::format("{:.2f} us", 1e6 * s);
  return s < 1 ? fmt::format("{:.3f} ms", 1e3 * s) : fmt::format("{:.3f} s", s);
}

std::string timing_text(const Timing& t) {
  if (t.groups == 0) return fmt::format("  {}: {} calls checked; this device has no clock\n", t.workload.name, t.calls);
  const auto interval = [](const Interval& i) { return fmt::format("{} ({} to {})", seconds_text(i.middle), seconds_text(i.low), seconds_text(i.high)); };
  std::string out = fmt::format("{}: {} a call from cold", t.workload.text(), interval(t.cold_s));
  if (t.warm_s) out += fmt::format(", {} one after the other", interval(*t.warm_s));
  out += t.process_s ? fmt::format("; another process may differ by {}, which is in it", seconds_text(*t.process_s)) : "; how far another process would differ is not known";
  if (t.floor_s > 0) out += fmt::format("; {:.2f} times the floor of {}", t.cold_s.middle / t.floor_s, seconds_text(t.floor_s));
  const auto& c = t.conditions;
  out += fmt::format("; {} calls, all checked; an empty launch shows {}", t.calls, seconds_text(t.launch_s));
  if (c.sm_mhz_high > 0) out += fmt::format("; {:.0f} to {:.0f} MHz, up to {:.0f} W, {:.0f} C", c.sm_mhz_low, c.sm_mhz_high, c.power_w, c.temperature_c);
  if (!c.slowed_by.empty()) out += fmt::format("; slowed by: {}", fmt::join(c.slowed_by, ", "));
  if (c.other_processes > 0) out += fmt::format("; {} other processes used the GPU", c.other_processes);
  if (t.trace) out += fmt::format("; the kernels alone, by the activity trace, {}, of which events differ by {:+.1f} %", interval(t.trace->kernels_s), 100 * (t.trace->agreement.middle - 1));
  else if (!t.untraced.empty()) out += fmt::format("; no kernel activity trace: {}", t.untraced);
  if (t.energy) {
    const Timing::Energy& e = *t.energy;
    out += fmt::format("; {:.3g} mJ ({:.4g} to {:.4g}) a call one after the other, beyond the {:.0f} W of the idle GPU; at {:.0f} W, {} loops within {:.1f} %", 1e3 * e.joules.middle,
                       1e3 * e.joules.low, 1e3 * e.joules.high, e.idle_w, e.loaded_w, e.loops, 100 * e.spread);
  } else if (!t.unmetered.empty()) {
    out += fmt::format("; no energy: {}", t.unmetered);
  }
  out = wrap(out, "  ");
  for (const Ratio& r : t.rivals) {
    const std::string name = r.rival + (r.sealed ? "" : " (unsealed)");
    const std::string joules = r.joules ? fmt::format("; that takes {:.3f} ({:.3f} to {:.3f}) times the energy", r.joules->middle, r.joules->low, r.joules->high) : "";
    out += wrap(r.cold ? fmt::format("{:.3f} ({:.3f} to {:.3f}) times as fast as {}{}", r.cold->middle, r.cold->low, r.cold->high, name, joules)
                       : fmt::format("no time of {}: {}", name, r.why), "    ");
  }
  return out;
}

struct Explain {
  const SourceText& source;
  bool sealed = true;

  std::string operator()(const CompileError& e) const {
    std::string out;
    for (size_t i = 0; i < std::min<size_t>(e.diagnostics.size(), 8); ++i) {
      const auto& d = e.diagnostics[i];
      const std::string place = place_text(d.place);
      out += wrap(place.empty() ? d.message : place + ": " + d.message, "  ");
      out += excerpt(source, d.place.file, d.place.line);
    }
    if (e.diagnostics.size() > 8) out += fmt::format("  … and {} more\n", e.diagnostics.size() - 8);
    if (e.diagnostics.empty()) out += wrap(e.log.substr(0, 2000), "  ");
    return out;
  }
  std::string operator()(const Unrecordable& u) const {
    std::string out = fmt::format("  workload {}\n", u.workload.text());
    out += wrap(u.call.empty() ? u.message : u.call + ": " + u.message, "  ");
    if (const std::string place = place_text(u.place); !place.empty()) out += fmt::format("  at {}\n", place);
    out += excerpt(source, u.place.file, u.place.line);
    out += last_lines(u.printed);
    for (const auto& note : u.notes) out += wrap("- " + note, "  ");
    return out;
  }
  std::string operator()(const ContractViolation& c) const {
    std::string out = fmt::format("  workload {}\n", c.workload.text()) + wrap(c.message, "  ");
    if (const std::string place = place_text(c.place); !place.empty()) out += fmt::format("  at {}\n", place);
    out += excerpt(source, c.place.file, c.place.line);
    for (const auto& note : c.notes) out += wrap("- " + note, "  ");
    return out;
  }
  std::string operator()(const Wrong& w) const {
    std::string out = fmt::format("  workload {}\n", w.workload.text());
    out += wrap("first wrong element: " + element_text(w.first), "  ");
    if (w.first.unwritten) out += "  nothing has written this element\n";
    out += wrap(fmt::format("{} of {} elements are outside the budget; max |error| {:.3g}, rmse {:.3g}, cosine {:.6f}",
                            w.metrics.failing, w.metrics.elements, w.metrics.max_abs, w.metrics.rmse, w.metrics.cosine), "  ");
    if (w.metrics.kind_mismatches > 0) {
      out += fmt::format("  {} of them are NaN or infinite where the {} not{}\n", w.metrics.kind_mismatches,
                         std::isfinite(w.first.got) && !std::isfinite(w.first.expected) ? "candidate's are" : "reference is",
                         std::isfinite(w.first.got) ? "" : " (an element never written is NaN)");
    }
    if (!w.pattern.empty()) out += wrap("wrong: " + w.pattern, "  ");
    out += wrap("budget: " + w.tolerance, "  ");
    if (w.first_wrong_piece) out += wrap("first wrong piece: " + element_text(*w.first_wrong_piece), "  ");
    if (w.minimal) out += wrap(minimal_text(*w.minimal, w.workload), "  ");
    return out;
  }
  std::string operator()(const Nondeterministic& n) const {
    std::string out = fmt::format("  workload {}\n", n.workload.text());
    out += fmt::format("  {}{} = {:.9g} with {}\n", n.output, index_text(n.index), n.first, n.first_schedule);
    out += fmt::format("  {}{} = {:.9g} with {}\n", n.output, index_text(n.index), n.second, n.second_schedule);
    out += fmt::format("  {} of {} elements differ\n", n.differing, n.elements);
    return out + wrap("Both orders are legal on hardware: the answer depends on timing, on where buffers lie, or on earlier calls.", "  ");
  }
  std::string operator()(const Unsafe& u) const {
    std::string out = fmt::format("  workload {}\n", u.workload.text());
    emu::Reader reader;
    reader.indent = "  ";
    reader.columns = kColumns;
    reader.is_own = is_candidates;
    reader.source = source;
    reader.object = [&u](const emu::Finding& finding) {
      const auto at = static_cast<size_t>(&finding - u.findings.data());
      return at < u.elements.size() ? text_of(u.elements[at], finding) : std::string();
    };
    const std::vector<emu::FindingGroup> groups = emu::group(u.findings, reader);
    size_t shown = 0;
    for (; shown < std::min(groups.size(), kShownGroups); ++shown) {
      const std::string text = '\n' + emu::text_of(groups[shown], reader);
      if (shown > 0 && lines_of(out) + lines_of(text) > kFindingLines) break;
      out += text;
    }
    if (groups.size() > shown) {
      const size_t more = groups.size() - shown;
      out += fmt::format("\n  … and findings at {} more {} (--json gives all)\n", more, more == 1 ? "place" : "places");
    }
    if (u.numbers_right) {
      out += '\n';
      out += wrap("The numbers were right all the same: comparing outputs cannot see this fault, and neither can a "
                         "run on hardware that happens to be lucky.", "  ");
    }
    return out;
  }
  std::string operator()(const Timeout& t) const {
    return fmt::format("  workload {}\n  {} did not end within {:.0f} s\n", t.workload.text(), t.what, t.limit_s);
  }
  std::string operator()(const NotChecked& n) const {
    if (n.right_on_gpu > 0)
      return wrap(n.message, "  ") + wrap(fmt::format("On the GPU the outputs of {} workloads are right; races, uninitialised reads and stores far out of bounds "
                                                      "are not seen there.", n.right_on_gpu), "  ");
    return wrap(n.message, "  ") + wrap("Nothing is claimed about this candidate, neither right nor wrong.", "  ");
  }
  std::string operator()(const Suspect& s) const {
    return fmt::format("  workload {}\n", s.workload.text()) + wrap(s.defence + ": " + s.evidence, "  ") +
           wrap("Its outputs are right, but no honest way to measure this is known: nothing is claimed about its speed.", "  ");
  }
  std::string operator()(const Correct& c) const {
    std::string out = fmt::format("  {} workloads, {} changes of their values, {} further schedules\n", c.workloads, c.values, c.schedules);
    std::vector<Correct::Output> all = c.outputs;
    all.insert(all.end(), c.pieces.begin(), c.pieces.end());
    for (const auto& o : all) {
      out += wrap(fmt::format("{}: max |error| {:.3g}, rmse {:.3g}, {:.0f} % of the budget used (worst: {})", o.output,
                              o.metrics.max_abs, o.metrics.rmse, 100 * o.metrics.budget_used, o.workload.text()), "  ");
    }
    for (const Timing& t : c.times) out += timing_text(t);
    if (!sealed) return out + wrap("By PyTorch, in one process with the candidate's Python, which could deceive what called and timed it: believe this as far as you believe the candidate.", "  ");
    if (!c.times.empty()) return out;
    if (c.on_gpu > 0) return out + wrap(fmt::format("On the PTX emulator, and {} workloads on the GPU. Nothing here is a time.", c.on_gpu), "  ");
    return out + wrap("On the PTX emulator, for the schedules and shapes above. PTX is not SASS, and nothing here is a time.", "  ");
  }
};

std::string title(const Outcome& outcome) {
  std::string out(name_of(outcome));
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::replace(out.begin(), out.end(), '-', ' ');
  return out;
}

}  // namespace

std::string element_text(const WrongElement& e) {
  const std::string values = fmt::format("{}{} = {:.8g}, should be {:.8g}", e.tensor, index_text(e.index), e.got, e.expected);
  if (!std::isfinite(e.got) || !std::isfinite(e.expected)) return values;
  return fmt::format("{} (off by {:.3g}, allowed {:.3g})", values, std::abs(e.got - e.expected), e.allowed);
}

SourceText source_text_of(const std::string& candidate_path) {
  namespace fs = std::filesystem;
  return [candidate_path](const std::string& file) -> std::string {
    std::error_code ignored;
    fs::path path = candidate_path;
    const fs::path named = file;
    if (fs::is_directory(path, ignored)) {
      if (named.is_absolute()) return "";
      for (const auto& part : named) {
        if (part == "..") return "";
      }
      path /= named;
    } else if (named.filename() != path.filename()) {
      return "";
    }
    return read_file(path.string(), 4 << 20).value_or("");
  };
}

std::string ladder_line(const RungReport& report) {
  const char* status = report.status == RungReport::Status::kPassed   ? "ok"
                       : report.status == RungReport::Status::kFailed ? "FAILED"
                       : report.status == RungReport::Status::kNotChecked ? "?"
                                                                          : "not run";
  if (report.status == RungReport::Status::kNotRun) return fmt::format("  {:<10} {:<7}", name_of(report.rung), status);
  return fmt::format("  {:<10} {:<7} {:>7.2f} s  {}", name_of(report.rung), status, report.seconds, report.detail);
}

std::string page(const Verdict& verdict, const SourceText& source) {
  std::string out = fmt::format("{}{}: {} for {} ({})\n", title(verdict.outcome), verdict.sealed ? "" : ", UNSEALED", verdict.candidate, verdict.problem, verdict.target);
  if (verdict.decided_by) out += fmt::format("  rung {}: {}\n", name_of(*verdict.decided_by), question_of(*verdict.decided_by));
  out += std::visit(Explain{source, verdict.sealed}, verdict.outcome);
  out += fmt::format("  seed {}\n", verdict.seed);
  return out;
}

}  // namespace kw::judge
