// The roofline picture: operations a second over operations a byte, both by powers of ten; the roofs, and under them each workload's
// start (a ring) and best (a disc), numbered from 1 in the order of `roofs.points`. An <svg> element whose classes report_html.cc
// gives their looks. Empty where the numbers are none that can be drawn. Pure.
// Williams, Waterman, Patterson, "Roofline: an insightful visual performance model" (2009).
#pragma once

#include "agent/html.h"
#include "agent/report_data.h"

namespace kw::agent {

// `grade`: of the times that points come from.
Html roofs_svg(const Roofs& roofs, profile::Grade grade);

}  // namespace kw::agent
