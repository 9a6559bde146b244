#include <fmt/format.h>

#include <cmath>

#include "base/source_text.h"
#include "base/text_table.h"
#include "profile/profile.h"

namespace kw::profile {
namespace {

std::string quantity(double value, const std::string& unit) {
  if (unit == "s") return value < 1e-3 ? fmt::format("{:.1f} µs", value * 1e6) : value < 1 ? fmt::format("{:.2f} ms", value * 1e3) : fmt::format("{:.2f} s", value);
  static constexpr const char* kPrefix[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  double scaled = value;
  while (scaled >= 10'000 && prefix + 1 < std::size(kPrefix)) {
    scaled /= 1000;
    ++prefix;
  }
  std::string number = prefix == 0 && scaled == std::floor(scaled) ? fmt::format("{:.0f}", scaled) : fmt::format("{:.4g}", scaled);
  if (prefix != 0 || !unit.empty()) number += fmt::format(" {}{}", kPrefix[prefix], unit == "1/s" ? "op/s" : unit);
  return number;
}

std::string axes_text(const problem::Workload& workload) {
  std::string text;
  for (const auto& [name, value] : workload.axes) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return fmt::format("{} ({})", workload.name, text);
}

std::string counted_text(const Subject& s) {
  switch (s.counted_as) {
    case CountedAs::kShortened: return axes_text(s.counted_workload) + ", where each block does the same; the emulator's metrics are of it";
    case CountedAs::kSampled: return fmt::format("{} of {} blocks of the real launch; the emulator's metrics are of {}", s.sampled_blocks, s.all_blocks, s.counts_exactly() ? "them" : "all, by these");
    case CountedAs::kScaled: break;
  }
  return axes_text(s.counted_workload) + ", and scaled; the emulator's metrics are of it";
}

// What ncu says of a kernel, in a line.
std::string text_of(const HardwareCounters& h) {
  std::vector<std::string> parts;
  if (h[Counter::kSeconds]) parts.push_back(quantity(h.of(Counter::kSeconds), "s"));
  for (const auto& [counter, name] : {std::pair{Counter::kDramShare, "of DRAM's peak"}, {Counter::kL2Share, "of L2's"}, {Counter::kComputeShare, "of the SMs'"},
                                      {Counter::kOccupancy, "occupancy"}, {Counter::kIssue, "of the issue slots"}, {Counter::kTensor, "of the tensor cores"}})
    if (h[counter]) parts.push_back(fmt::format("{:.0f} % {}", 100 * h.of(counter), name));
  std::string_view most;
  for (const auto& [reason, warps] : h.stalls)
    if (most.empty() || warps > h.stalls.find(most)->second) most = reason;
  if (!most.empty()) parts.push_back(fmt::format("warps are in {} {:.0f} % of their time", most, 100 * h.stall_share(most)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string page(const Profile& profile) {
  const Subject& s = profile.subject;
  const Roofline& r = profile.roofline;
  std::string out = fmt::format("{}  {} for {} ({})\n", s.problem->name, s.candidate, s.target->name, s.target->part.product);
  const auto line = [&](std::string_view name, const std::string& text) { out += wrap(fmt::format("{:<12}{}", name, text), "  ", 110, 12); };
  line("profiled at", axes_text(s.workload));
  if (!s.uncounted.empty()) line("counted at", "nothing: " + s.uncounted);
  else line("counted at", counted_text(s));
  line("class", fmt::format("{}: {} must move and {} operations be done, {:.3g} a byte; {} and DRAM meet at {:.3g}", name_of(r.by_problem), quantity(r.bytes, "B"),
                            quantity(r.operations, ""), r.intensity(), r.peak, r.ridge()));
  if (r.by_counters) line("by counters", fmt::format("{}: {}", name_of(*r.by_counters), r.why_by_counters()));
  if (!r.conflict.empty()) line("conflict", r.conflict);
  const std::string estimate = s.uncounted.empty() ? quantity(s.seconds, "s") + " by estimate" : "no estimate, for nothing was counted";
  const std::string floor = "at the peaks, all that the reference names takes " + quantity(r.floor_seconds(), "s");
  if (s.measured) {
    line("time", fmt::format("{} measured (half of {} cold calls within {} to {}), {}; {}", quantity(s.measured->seconds, "s"), s.measured->calls,
                             quantity(s.measured->low, "s"), quantity(s.measured->high, "s"), estimate, floor));
  } else {
    line("time", fmt::format("{}{}; {}", estimate, s.uncounted.empty() ? ", for nothing ran on a GPU" : " and nothing ran on a GPU", floor));
  }
  line("right?", "not asked here: kw judge says");
  for (const Kernel& kernel : s.kernels) {
    if (s.kernels.size() == 1) break;
    out += wrap(fmt::format("{:3.0f} %  {} × {}", 100 * kernel.share, kernel.launched.launches, kernel.name), "  ", 110, 7);
  }
  for (const Kernel& kernel : s.kernels)
    if (kernel.hardware) line("by ncu", (s.kernels.size() > 1 ? kernel.name + ": " : "") + text_of(*kernel.hardware));
  for (const std::string& words : profile.conflicts) line("conflict", words + "; what is measured counts");
  if (s.measured && s.measured->timeline && s.measured->timeline->steps.size() > 1) {
    const Timeline& t = *s.measured->timeline;
    line("timeline", fmt::format("{} steps in {} by the kernel activity trace: {} in gaps, {} side by side", t.steps.size(), quantity(t.seconds, "s"), quantity(t.gaps(), "s"), quantity(t.overlapped, "s")));
    for (const std::string& each : lines_of(t)) out += "  " + each + "\n";
  }
  for (const std::string& note : s.notes) out += wrap("note: " + note, "  ", 110, 2);

  out += profile.advice.empty() ? "\nNo tool has anything to say.\n" : "\nAdvice, the largest gain first (gains are estimates)\n";
  size_t number = 0;
  for (const Advice& advice : profile.advice) {
    const std::string place = advice.line != 0 ? fmt::format("  {}:{}", advice.file, advice.line) : "";
    out += fmt::format("\n{}. {}  {:.2f}× {}\n", ++number, advice.tool, advice.gain, advice.question ? "if the answer is yes" : "expected");
    if (!advice.kernel.empty() || !place.empty()) out += wrap(advice.kernel + place, "   ", 110);
    out += wrap("saw: " + advice.saw, "   ", 110, 5);
    out += wrap((advice.question ? "ask: " : "try: ") + advice.try_this, "   ", 110, 5);
  }

  std::string kernel = "\n";
  TextTable table({"metric", "value", "grade", "source"}, {Align::kLeft, Align::kRight, Align::kLeft, Align::kLeft});
  const auto flush = [&] {
    if (table.rows() == 0) return;
    out += kernel.empty() ? "\nMetrics of the candidate\n" : fmt::format("\n{}", wrap("Metrics of " + kernel, "", 110));
    out += table.str(2);
    table = TextTable({"metric", "value", "grade", "source"}, {Align::kLeft, Align::kRight, Align::kLeft, Align::kLeft});
  };
  for (const Metric& metric : profile.metrics) {
    if (metric.kernel != kernel) {
      flush();
      kernel = metric.kernel;
    }
    table.add_row({metric.name, quantity(metric.value, metric.unit), std::string(name_of(metric.grade)), metric.source});
  }
  flush();
  return out;
}

}  // namespace kw::profile
