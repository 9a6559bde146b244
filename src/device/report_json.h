// Options and reports of runs and timed calls between a caller and its device process. Findings keep what a verdict reads of them; counters stay
// behind. Internal to device.
#pragma once

#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/result.h"
#include "device/device.h"

namespace kw::device {

// What `read` takes from an answer. The other process may run anybody's code: fields that are missing or of another type make the
// answer none (kInvalid).
template <typename Read>
auto read_answer(const nlohmann::json& json, const Read& read) -> Result<std::decay_t<decltype(read(json))>> {
  try {
    return read(json);
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::kInvalid, "the device process sends an answer that is none: {}", error.what());
  }
}

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
