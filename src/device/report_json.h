// Options and reports of runs and timed calls between a caller and its device process. Findings keep what a verdict reads of them; counters stay
// behind. Internal to device.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "device/device.h"

namespace kw::device {

nlohmann::json json_of(const RunOptions& options);
RunOptions run_options_of(const nlohmann::json& json);
nlohmann::json json_of(const RunReport& report);
nlohmann::json json_of(const CallOptions& options);
CallOptions call_options_of(const nlohmann::json& json);
nlohmann::json json_of(const CallReport& report);
nlohmann::json json_of(const Conditions& conditions);
Conditions conditions_of(const nlohmann::json& json);
nlohmann::json json_of(const Power& power);
Power power_of(const nlohmann::json& json);
// kInvalid for what is no report.
Result<CallReport> call_report_of(const nlohmann::json& json);
Result<RunReport> run_report_of(const nlohmann::json& json);

}  // namespace kw::device
