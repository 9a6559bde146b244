#include "profile/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/demangle.h"
#include "base/source_text.h"

namespace kw::profile {
namespace {

constexpr size_t kMostLines = 16;

}  // namespace

Timeline timeline_of(std::vector<device::TracedStep> steps) {
  Timeline out;
  std::erase_if(steps, [](const device::TracedStep& step) { return !std::isfinite(step.begin_s) || !std::isfinite(step.end_s) || step.end_s < step.begin_s; });
  if (steps.empty()) return out;
  std::stable_sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.begin_s < b.begin_s; });
  const double origin = steps.front().begin_s;
  double one = 0, two = 0;   // until when at least so many run
  for (device::TracedStep& step : steps) {
    step.begin_s -= origin;
    step.end_s -= origin;
    out.busy += std::max(0.0, step.end_s - std::max(step.begin_s, one));
    const double both = std::min(step.end_s, one);
    out.overlapped += std::max(0.0, both - std::max(step.begin_s, two));
    two = std::max(two, both);
    one = std::max(one, step.end_s);
  }
  out.seconds = one;
  out.steps = std::move(steps);
  return out;
}

std::vector<std::string> lines_of(const Timeline& timeline) {
  std::vector<std::string> out;
  double end = 0;
  const size_t count = timeline.steps.size(), left_out = count > kMostLines ? count - kMostLines : 0;
  for (size_t i = 0; i < count; ++i) {
    const device::TracedStep& step = timeline.steps[i];
    const double gap = step.begin_s - end;
    end = std::max(end, step.end_s);
    if (left_out > 0 && i >= kMostLines / 2 && i < kMostLines / 2 + left_out) {
      if (i == kMostLines / 2) out.push_back(fmt::format("… {} more", left_out));
      continue;
    }
    const std::string kernel = step.kernel.empty() ? "(copy or fill)" : printable_text(readable_name(step.kernel));
    const std::string apart = i == 0 ? "" : gap >= 0 ? fmt::format("  ({:.1f} µs after the one before)", gap * 1e6) : fmt::format("  ({:.1f} µs beside another)", std::min(-gap, step.end_s - step.begin_s) * 1e6);
    out.push_back(fmt::format("{:9.1f} µs  + {:.1f} µs  {}{}", step.begin_s * 1e6, (step.end_s - step.begin_s) * 1e6, kernel, apart));
  }
  return out;
}

}  // namespace kw::profile
