// RunOptions and RunReport between a caller and its device process. Findings keep what a verdict reads of them; counters stay
// behind. Internal to device.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "device/device.h"

namespace kw::device {

nlohmann::json json_of(const RunOptions& options);
RunOptions run_options_of(const nlohmann::json& json);
nlohmann::json json_of(const RunReport& report);
// kInvalid for what is no report.
Result<RunReport> run_report_of(const nlohmann::json& json);

}  // namespace kw::device
