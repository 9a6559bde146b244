#include "agent/optimize.h"
#include "base/json_fields.h"

namespace kw::agent {
namespace {

constexpr const char* kSchema = "kernelwright/optimize/1";

}  // namespace

std::string settings_json(const Settings& s) {
  return nlohmann::ordered_json{{"schema", kSchema}, {"problem_file", s.problem_file}, {"kernel_file", s.kernel_file}, {"problem", s.problem}, {"kernel", s.kernel},
                                {"target", s.target}, {"strategy", s.strategy}, {"seed", s.seed}, {"evaluations", s.evaluations}, {"in_flight", s.in_flight}, {"gpu", s.gpu}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
  KW_TRY_VOID(fields.complaint("the run's options", "the store"));
  return out;
}

}  // namespace kw::agent
