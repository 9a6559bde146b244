// A suite's case, and a workload's name, as JSON and back: in verdicts, bundles and results. Internal to judge.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/json_fields.h"
#include "judge/suite.h"

namespace kw::judge {

nlohmann::ordered_json json_of(const WorkloadName& workload);
nlohmann::ordered_json json_of(const SuiteCase& c);
// As text for a file: bytes that are not UTF-8 are replaced.
std::string text_of(const nlohmann::ordered_json& json);

WorkloadName workload_name_of(JsonFields& fields, const nlohmann::json& json, const char* name);   // member `name` of `json`
SuiteCase suite_case_of(JsonFields& fields, const nlohmann::json& json);

}  // namespace kw::judge
