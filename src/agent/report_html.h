// The report of a run as one HTML file: no script, nothing from elsewhere, light and dark as the reader has it, for a phone as for a
// desk. Pure; whatever texts the data holds, they stay texts (html.h).
#pragma once

#include <string>

#include "agent/report_data.h"

namespace kw::agent {

std::string html(const ReportData& data);

}  // namespace kw::agent
