#include "profile/profile.h"

#include "profile/conflicts.h"
#include "profile/tools.h"

namespace kw::profile {

std::string_view name_of(Grade grade) {
  switch (grade) {
    case Grade::kExact: return "exact";
    case Grade::kMeasured: return "measured";
    case Grade::kEstimated: return "estimated";
  }
  return "unknown";
}

Result<Profile> profile(const problem::Problem& problem, const std::string& candidate, const Options& options) {
  Profile out;
  KW_TRY(out.subject, collect(problem, candidate, options));
  out.roofline = roofline(out.subject, options.calibration);
  if (options.calibration) out.subject.notes.push_back(fmt::format("the class has its peaks from {}, as far as they are calibrated; the estimate has those of the {}", options.calibration->device, out.subject.target->part.product));
  out.advice = advise(out.subject, out.roofline);
  out.conflicts = conflicts(out.subject);
  out.metrics = metrics_of(out.subject, out.roofline);
  return out;
}

}  // namespace kw::profile
