#include "agent/evaluation.h"
#include "base/json_fields.h"

namespace kw::agent {
namespace {

using Json = nlohmann::json;

constexpr const char* kSchema = "kernelwright/evaluation/1";

Json json_of(const profile::Advice& a) {
  return {{"tool", a.tool}, {"kernel", a.kernel}, {"file", a.file}, {"line", a.line}, {"saw", a.saw}, {"try", a.try_this}, {"gain", json_real(a.gain)}, {"question", a.question}};
}

profile::Advice advice_of(JsonFields& fields, const Json& json) {
  profile::Advice out;
  out.tool = fields.words(json, "tool");
  out.kernel = fields.words(json, "kernel");
  out.file = fields.words(json, "file");
  out.line = fields.number<uint32_t>(json, "line", 0);
  out.saw = fields.words(json, "saw");
  out.try_this = fields.words(json, "try");
  out.gain = fields.real(json, "gain");
  out.question = fields.flag(json, "question");
  return out;
}

}  // namespace

std::string to_json(const Evaluation& e) {
  Json times = Json::array(), advice = Json::array();
  for (const WorkloadTime& each : e.times) times.push_back({{"workload", each.workload}, {"seconds", json_real(each.seconds)}, {"floor", json_real(each.floor_seconds)}});
  for (const profile::Advice& each : e.advice) advice.push_back(json_of(each));
  const Json json{{"schema", kSchema}, {"works", e.outcome.works}, {"seconds", json_real(e.outcome.seconds)}, {"spread", json_real(e.outcome.spread)}, {"joules", json_real(e.outcome.joules)},
                  {"learned", e.outcome.learned}, {"made", e.outcome.made}, {"verdict", e.verdict}, {"rung", e.rung}, {"name", e.name}, {"times", times},
                  {"measured", e.grade == profile::Grade::kMeasured}, {"advice", advice}, {"page", e.page}, {"profile", e.profile}, {"counters", e.counters}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Evaluation> evaluation_from(std::string_view text) {
  const Json json = parse_json(text);
  JsonFields fields;
  Evaluation out;
  if (fields.words(json, "schema") != kSchema) fields.complain("schema");
  out.outcome.works = fields.flag(json, "works");
  out.outcome.seconds = fields.real(json, "seconds");
  out.outcome.spread = fields.real(json, "spread");
  out.outcome.joules = fields.real(json, "joules");
  out.outcome.learned = fields.words(json, "learned");
  out.outcome.made = fields.words(json, "made");
  out.verdict = fields.words(json, "verdict");
  out.rung = fields.words(json, "rung");
  out.name = fields.words(json, "name");
  for (const Json& each : fields.list(json, "times")) {
    WorkloadTime time;
    time.workload = fields.words(each, "workload");
    time.seconds = fields.real(each, "seconds");
    time.floor_seconds = fields.real(each, "floor");
    out.times.push_back(std::move(time));
  }
  out.grade = fields.flag(json, "measured") ? profile::Grade::kMeasured : profile::Grade::kEstimated;
  for (const Json& each : fields.list(json, "advice")) out.advice.push_back(advice_of(fields, each));
  out.page = fields.words(json, "page");
  out.profile = fields.words(json, "profile");
  out.counters = fields.words(json, "counters");
  KW_TRY_VOID(fields.complaint("an evaluation", "the store"));
  return out;
}

}  // namespace kw::agent
