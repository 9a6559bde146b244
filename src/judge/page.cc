#include "judge/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/result.h"

namespace kw::judge {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kShownFindings = 3;

std::string wrap(std::string_view text, std::string_view indent) {
  std::string out, line(indent);
  size_t begin = 0;
  bool empty = true;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!empty && line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line = indent;
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
    begin = end + 1;
  }
  if (!empty) out += line + "\n";
  return out;
}

// The lines around a place, the place marked.
std::string excerpt(const SourceText& source, const std::string& file, uint32_t line) {
  if (!source || file.empty() || line == 0) return "";
  const std::string text = source(file);
  if (text.empty()) return "";
  std::string out;
  for (uint32_t i = line > 2 ? line - 2 : 1; i <= line + 1; ++i) {
    std::string shown(line_of(text, static_cast<int>(i)));
    if (shown.empty() && i > line) continue;
    for (char& c : shown) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    if (shown.size() > kColumns - 12) shown.resize(kColumns - 12);
    out += fmt::format("    {} {:>5} | {}\n", i == line ? '>' : ' ', i, shown);
  }
  return out;
}

std::string where(const emu::Party& party) {
  std::string out = party.source_line > 0 && !party.source_file.empty()
                        ? fmt::format("{}:{}", party.source_file, party.source_line)
                        : fmt::format("PTX line {}", party.ptx_line);
  return out;
}

std::string who(const emu::Party& party) {
  return fmt::format("block ({},{},{}) warp {} lane {}, thread ({},{},{})", party.block[0], party.block[1], party.block[2],
                     party.warp, party.lane, party.thread[0], party.thread[1], party.thread[2]);
}

std::string show_party(const char* title, const emu::Party& party, const SourceText& source) {
  std::string out = fmt::format("  {} {} in {}\n", title, where(party), party.kernel);
  out += fmt::format("    by {}\n", who(party));
  if (!party.instruction.empty()) out += fmt::format("    {}   (PTX line {})\n", party.instruction, party.ptx_line);
  return out + excerpt(source, party.source_file, party.source_line);
}

std::string index_text(const std::vector<int64_t>& index) { return fmt::format("[{}]", fmt::join(index, ", ")); }

std::string place_text(const SourcePlace& place) {
  if (place.file.empty()) return "";
  if (place.line == 0) return place.file;
  return place.column > 0 ? fmt::format("{}:{}:{}", place.file, place.line, place.column) : fmt::format("{}:{}", place.file, place.line);
}

std::string remedy_of(emu::Finding::Kind kind) {
  using Kind = emu::Finding::Kind;
  switch (kind) {
    case Kind::kRace: return "Order the two accesses: a __syncthreads() (or the wait of the asynchronous copy) is missing between them.";
    case Kind::kOutOfBounds: return "Guard the access for the last, partial tile, or check the index arithmetic.";
    case Kind::kMisaligned: return "A vector access needs its natural alignment: check the row pitch of odd shapes.";
    case Kind::kUninitialisedRead: return "Write the bytes before they are read; rows past the tail are a common place.";
    case Kind::kBarrierDivergence: return "Every thread of the block must reach the same barrier: move it out of the branch.";
    case Kind::kDeadlock: return "A barrier or flag is waited for that nobody will signal: compare the counts above.";
    case Kind::kTrap: return "The kernel stopped itself: an assert or a trap.";
    case Kind::kWriteToReadOnly: return "Inputs must stay as they are: write to an output or to workspace.";
    case Kind::kInvalidOperand: return "The value is outside what the PTX ISA allows for this instruction.";
    case Kind::kStackOverflow: return "The recursion is too deep.";
    case Kind::kLimit: case Kind::kUnsupported: return "";
  }
  return "";
}

struct Explain {
  const SourceText& source;

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
    return out + excerpt(source, u.place.file, u.place.line);
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
    out += fmt::format("  first wrong element: {}{} = {:.8g}, should be {:.8g} (off by {:.3g}, allowed {:.3g})\n", w.output,
                       index_text(w.index), w.got, w.expected, std::abs(w.got - w.expected), w.allowed);
    out += fmt::format("  {} of {} elements are outside the budget; max |error| {:.3g}, rmse {:.3g}, cosine {:.6f}\n",
                       w.metrics.failing, w.metrics.elements, w.metrics.max_abs, w.metrics.rmse, w.metrics.cosine);
    if (w.metrics.kind_mismatches > 0) {
      out += fmt::format("  {} of them are NaN or infinite where the reference is not (an element never written is NaN)\n",
                         w.metrics.kind_mismatches);
    }
    return out + wrap("budget: " + w.tolerance, "  ");
  }
  std::string operator()(const Nondeterministic& n) const {
    std::string out = fmt::format("  workload {}\n", n.workload.text());
    out += fmt::format("  {}{} = {:.9g} with {}\n", n.output, index_text(n.index), n.first, n.first_schedule);
    out += fmt::format("  {}{} = {:.9g} with {}\n", n.output, index_text(n.index), n.second, n.second_schedule);
    out += fmt::format("  {} of {} elements differ\n", n.differing, n.elements);
    return out + wrap("Both orders are legal on hardware: the answer depends on timing or on where buffers lie.", "  ");
  }
  std::string operator()(const Unsafe& u) const {
    std::string out = fmt::format("  workload {}\n", u.workload.text());
    for (size_t i = 0; i < std::min(u.findings.size(), kShownFindings); ++i) {
      const emu::Finding& f = u.findings[i];
      out += "\n" + wrap(fmt::format("{}: {}", emu::name_of(f.kind), f.message), "  ");
      if (!f.object.empty()) out += fmt::format("  object: {} + {}\n", f.object, f.object_offset);
      out += show_party("at", f.party, source);
      if (f.other) out += show_party("and", *f.other, source);
      if (f.count > 1) out += fmt::format("  seen {} times at these places\n", f.count);
      if (const std::string remedy = remedy_of(f.kind); !remedy.empty()) out += wrap(remedy, "  ");
    }
    if (u.findings.size() > kShownFindings) out += fmt::format("\n  … and {} more findings (--json gives all)\n", u.findings.size() - kShownFindings);
    if (u.numbers_right) {
      out += "\n" + wrap("The numbers were right all the same: comparing outputs cannot see this fault, and neither can a "
                         "run on hardware that happens to be lucky.", "  ");
    }
    return out;
  }
  std::string operator()(const Timeout& t) const {
    return fmt::format("  workload {}\n  {} did not end within {:.0f} s\n", t.workload.text(), t.what, t.limit_s);
  }
  std::string operator()(const NotChecked& n) const {
    return wrap(n.message, "  ") + wrap("Nothing is claimed about this candidate, neither right nor wrong.", "  ");
  }
  std::string operator()(const Correct& c) const {
    std::string out = fmt::format("  {} workloads, {} further schedules\n", c.workloads, c.schedules);
    for (const auto& o : c.outputs) {
      out += fmt::format("  {}: max |error| {:.3g}, rmse {:.3g}, {:.0f} % of the budget used (worst: {})\n", o.output,
                         o.metrics.max_abs, o.metrics.rmse, 100 * o.metrics.budget_used, o.workload.text());
    }
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

std::string ladder_line(const RungReport& report) {
  const char* status = report.status == RungReport::Status::kPassed   ? "ok"
                       : report.status == RungReport::Status::kFailed ? "FAILED"
                                                                      : "not run";
  if (report.status == RungReport::Status::kNotRun) return fmt::format("  {:<10} {:<7}", name_of(report.rung), status);
  return fmt::format("  {:<10} {:<7} {:>7.2f} s  {}", name_of(report.rung), status, report.seconds, report.detail);
}

std::string page(const Verdict& verdict, const SourceText& source) {
  std::string out = fmt::format("{}: {} for {} ({})\n", title(verdict.outcome), verdict.candidate, verdict.problem, verdict.target);
  if (verdict.decided_by) out += fmt::format("  rung {}: {}\n", name_of(*verdict.decided_by), question_of(*verdict.decided_by));
  out += std::visit(Explain{source}, verdict.outcome);
  out += fmt::format("  seed {}\n", verdict.seed);
  return out;
}

}  // namespace kw::judge
