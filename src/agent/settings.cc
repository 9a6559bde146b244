#include "agent/model_space.h"
#include "agent/optimize.h"
#include "base/json_fields.h"

namespace kw::agent {
namespace {

constexpr const char* kSchema = "kernelwright/optimize/1";

}  // namespace

std::string settings_json(const Settings& s) {
  nlohmann::ordered_json json{{"schema", kSchema}, {"problem_file", s.problem_file}, {"kernel_file", s.kernel_file}, {"problem", s.problem}, {"kernel", s.kernel},
                                {"target", s.target}, {"strategy", s.strategy}, {"seed", s.seed}, {"evaluations", s.evaluations}, {"in_flight", s.in_flight}, {"gpu", s.gpu}};
  if (!s.model.spec.empty()) {
    json["model"] = {{"spec", s.model.spec}, {"feedback", s.model.feedback}, {"fixes", s.model.fixes}, {"max_output_tokens", s.model.max_output_tokens}, {"memory", s.model.memory}};
    nlohmann::ordered_json& model = json["model"];
    if (s.model.profile_after) model["profile_after"] = *s.model.profile_after;
    if (!s.model.code) model["code"] = false;
    if (s.model.tokens) model["tokens"] = *s.model.tokens;
    for (const auto& [name, value] : {std::pair{"money", s.model.money}, {"price_in", s.model.price_in}, {"price_out", s.model.price_out}, {"wall_seconds", s.model.wall_seconds}})
      if (value) model[name] = json_real(*value);
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Settings> settings_from(std::string_view text) {
  const nlohmann::json json = parse_json(text);
  JsonFields fields;
  Settings out;
  if (fields.words(json, "schema") != kSchema) fields.complain("schema");
  out.problem_file = fields.text(json, "problem_file");
  out.kernel_file = fields.text(json, "kernel_file");
  out.problem = fields.hash(json, "problem");
  out.kernel = fields.hash(json, "kernel");
  out.target = fields.text(json, "target");
  out.strategy = fields.text(json, "strategy");
  out.seed = fields.number<uint64_t>(json, "seed", 0);
  out.evaluations = fields.number<uint64_t>(json, "evaluations", 0);
  out.in_flight = fields.number<int>(json, "in_flight", 1);
  out.gpu = fields.flag(json, "gpu");
  if (out.in_flight < 1 || out.in_flight > 1024) fields.complain("in_flight");
  if (json.is_object() && json.contains("model")) {
    const nlohmann::json& model = json["model"];
    out.model.spec = fields.text(model, "spec");
    out.model.feedback = fields.text(model, "feedback");
    out.model.fixes = fields.number<int>(model, "fixes", 0);
    out.model.max_output_tokens = fields.number<uint64_t>(model, "max_output_tokens", 1);
    out.model.memory = fields.words(model, "memory");
    out.model.remembers = !out.model.memory.empty();
    if (out.model.remembers) out.model.memory = fields.hash(model, "memory");
    if (model.is_object() && model.contains("profile_after")) out.model.profile_after = fields.number<int>(model, "profile_after", 0);
    if (!feedback_named(out.model.feedback)) fields.complain("feedback");
    if (model.is_object() && model.contains("code")) out.model.code = fields.flag(model, "code");
    if (model.is_object() && model.contains("tokens")) out.model.tokens = fields.number<uint64_t>(model, "tokens", 0);
    for (const auto& [name, value] : {std::pair{"money", &out.model.money}, {"price_in", &out.model.price_in}, {"price_out", &out.model.price_out}, {"wall_seconds", &out.model.wall_seconds}})
      if (model.is_object() && model.contains(name)) *value = fields.real(model, name);
  }
  KW_TRY_VOID(fields.complaint("the run's options", "the store"));
  return out;
}

}  // namespace kw::agent
