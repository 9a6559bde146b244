#include "judge/suite_json.h"

namespace kw::judge {

using Json = nlohmann::ordered_json;

Json json_of(const WorkloadName& workload) {
  return Json{{"name", workload.name}, {"axes", workload.axes}, {"chosen_by_judge", workload.chosen_by_judge}};
}

Json json_of(const SuiteCase& c) {
  return Json{{"name", c.name}, {"target", c.target}, {"expected", c.expected}, {"got", c.got},
              {"why", c.why},   {"page", c.page},     {"seconds", c.seconds},   {"seed", c.seed}};
}

std::string text_of(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

WorkloadName workload_name_of(JsonFields& fields, const nlohmann::json& json, const char* name) {
  const nlohmann::json& workload = fields.member(json, name);
  WorkloadName out;
  out.name = fields.words(workload, "name");
  out.chosen_by_judge = fields.flag(workload, "chosen_by_judge");
  const nlohmann::json& axes = fields.member(workload, "axes");
  if (!axes.is_object()) {
    if (!axes.is_null()) fields.complain("axes");   // no axes at all are written as null
    return out;
  }
  for (const auto& [axis, value] : axes.items()) {
    if (!value.is_number_integer()) fields.complain("axes");
    else out.axes[axis] = value.get<int64_t>();
  }
  return out;
}

SuiteCase suite_case_of(JsonFields& fields, const nlohmann::json& json) {
  SuiteCase c;
  c.name = fields.text(json, "name");
  c.target = fields.text(json, "target");
  c.expected = fields.words(json, "expected");
  c.got = fields.words(json, "got");
  c.why = fields.texts(json, "why");
  c.page = fields.words(json, "page");
  c.seconds = fields.real(json, "seconds");
  c.seed = fields.number<uint64_t>(json, "seed", 0);
  return c;
}

}  // namespace kw::judge
