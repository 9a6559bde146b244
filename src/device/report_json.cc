#include "device/report_json.h"

namespace kw::device {
namespace {

using Json = nlohmann::json;

Json json_of(const emu::Finding& f) {
  return {{"kind", static_cast<int>(f.kind)}, {"fatal", f.fatal}, {"message", f.message}, {"address", f.address}, {"bytes", f.bytes},
          {"object", f.object}, {"object_offset", f.object_offset}, {"count", f.count}, {"kernel", f.party.kernel},
          {"instruction", f.party.instruction}, {"ptx_line", f.party.ptx_line}, {"source_file", f.party.source_file},
          {"source_line", f.party.source_line}, {"source_column", f.party.source_column}, {"block", f.party.block},
          {"warp", f.party.warp}, {"lane", f.party.lane}, {"thread", f.party.thread}};
}

emu::Finding finding_of(const Json& json) {
  emu::Finding f;
  const int kind = json.at("kind").get<int>();
  f.kind = kind >= 0 && kind <= static_cast<int>(emu::Finding::Kind::kStackOverflow) ? static_cast<emu::Finding::Kind>(kind) : emu::Finding::Kind::kTrap;
  json.at("fatal").get_to(f.fatal);
  json.at("message").get_to(f.message);
  json.at("address").get_to(f.address);
  json.at("bytes").get_to(f.bytes);
  json.at("object").get_to(f.object);
  json.at("object_offset").get_to(f.object_offset);
  json.at("count").get_to(f.count);
  json.at("kernel").get_to(f.party.kernel);
  json.at("instruction").get_to(f.party.instruction);
  json.at("ptx_line").get_to(f.party.ptx_line);
  json.at("source_file").get_to(f.party.source_file);
  json.at("source_line").get_to(f.party.source_line);
  json.at("source_column").get_to(f.party.source_column);
  json.at("block").get_to(f.party.block);
  json.at("warp").get_to(f.party.warp);
  json.at("lane").get_to(f.party.lane);
  json.at("thread").get_to(f.party.thread);
  return f;
}

}  // namespace

Json json_of(const RunOptions& o) {
  return {{"check_races", o.check_races}, {"check_uninitialised", o.check_uninitialised}, {"threads", o.threads},
          {"schedule_seed", o.schedule_seed}, {"late_completion", o.late_completion}, {"deadline_s", o.deadline_s},
          {"max_warp_instructions", o.max_warp_instructions}, {"max_findings", o.max_findings}, {"keep_variables", o.keep_variables},
          {"forbid_stale_variables", o.forbid_stale_variables}};
}

RunOptions run_options_of(const Json& json) {
  RunOptions o;
  o.check_races = json.value("check_races", false);
  o.check_uninitialised = json.value("check_uninitialised", false);
  o.threads = json.value("threads", 0);
  o.schedule_seed = json.value("schedule_seed", uint64_t{0});
  o.late_completion = json.value("late_completion", false);
  o.deadline_s = json.value("deadline_s", 0.0);
  o.max_warp_instructions = json.value("max_warp_instructions", uint64_t{0});
  o.max_findings = json.value("max_findings", uint64_t{20});
  o.keep_variables = json.value("keep_variables", false);
  o.forbid_stale_variables = json.value("forbid_stale_variables", false);
  return o;
}

Json json_of(const RunReport& report) {
  Json steps = Json::array();
  for (const StepReport& step : report.steps) {
    Json findings = Json::array();
    for (const emu::Finding& finding : step.findings) findings.push_back(json_of(finding));
    steps.push_back({{"step", step.step}, {"completed", step.completed}, {"warp_instructions", step.warp_instructions}, {"findings", std::move(findings)}});
  }
  return {{"completed", report.completed}, {"steps", std::move(steps)}, {"output", report.output}, {"wall_s", report.wall_s}};
}

Json json_of(const CallOptions& o) {
  return {{"turned", o.turned}, {"turn", o.turn}, {"layout_seed", o.layout_seed}, {"afresh", o.afresh}, {"cold", o.cold}, {"repeats", o.repeats}, {"key", o.key}, {"trace", o.trace}, {"power", o.power}, {"deadline_s", o.deadline_s}};
}

CallOptions call_options_of(const Json& json) {
  CallOptions o;
  o.turned = json.value("turned", std::vector<std::string>());
  o.turn = json.value("turn", uint64_t{0});
  o.layout_seed = json.value("layout_seed", uint64_t{0});
  o.afresh = json.value("afresh", false);
  o.cold = json.value("cold", true);
  o.repeats = json.value("repeats", 1);
  o.key = json.value("key", uint64_t{0});
  o.trace = json.value("trace", false);
  o.power = json.value("power", false);
  o.deadline_s = json.value("deadline_s", 0.0);
  return o;
}

Json json_of(const CallReport& report) {
  Json outputs = Json::array(), findings = Json::array(), traced = Json::array();
  for (const TracedStep& each : report.traced) traced.push_back({each.kernel, each.begin_s, each.end_s});
  for (const Fingerprint& each : report.outputs) outputs.push_back({each.first, each.second});
  for (const emu::Finding& finding : report.findings) findings.push_back(json_of(finding));
  return {{"completed", report.completed}, {"device_s", report.device_s}, {"host_s", report.host_s}, {"traced_s", report.traced_s},
          {"traced", std::move(traced)}, {"untraced", report.untraced}, {"power", json_of(report.power)}, {"outputs", std::move(outputs)}, {"findings", std::move(findings)}};
}

Result<CallReport> call_report_of(const Json& answer) {
  return read_answer(answer, [](const Json& json) {
    CallReport report;
    json.at("completed").get_to(report.completed);
    json.at("device_s").get_to(report.device_s);
    json.at("host_s").get_to(report.host_s);
    report.traced_s = json.value("traced_s", 0.0);   // what a device does not measure it need not say
    for (const Json& each : json.value("traced", Json::array())) report.traced.push_back({each.at(0).get<std::string>(), each.at(1).get<double>(), each.at(2).get<double>()});
    report.untraced = json.value("untraced", "");
    report.power = power_of(json.value("power", Json::object()));
    for (const Json& each : json.at("outputs")) report.outputs.push_back({each.at(0).get<uint64_t>(), each.at(1).get<uint64_t>()});
    for (const Json& each : json.at("findings")) report.findings.push_back(finding_of(each));
    return report;
  });
}

Json json_of(const Power& p) { return {{"watts", p.watts}, {"seconds", p.seconds}, {"updates", p.updates}}; }

Power power_of(const Json& json) { return {json.value("watts", 0.0), json.value("seconds", 0.0), json.value("updates", 0)}; }

Json json_of(const Conditions& c) {
  return {{"sm_mhz", c.sm_mhz}, {"memory_mhz", c.memory_mhz}, {"power_w", c.power_w}, {"temperature_c", c.temperature_c},
          {"slowed_by", c.slowed_by}, {"other_processes", c.other_processes}};
}

Conditions conditions_of(const Json& json) {
  Conditions c;
  c.sm_mhz = json.value("sm_mhz", 0.0);
  c.memory_mhz = json.value("memory_mhz", 0.0);
  c.power_w = json.value("power_w", 0.0);
  c.temperature_c = json.value("temperature_c", 0.0);
  c.slowed_by = json.value("slowed_by", std::vector<std::string>());
  c.other_processes = json.value("other_processes", 0);
  return c;
}

Result<RunReport> run_report_of(const Json& answer) {
  return read_answer(answer, [](const Json& json) {
    RunReport report;
    json.at("completed").get_to(report.completed);
    json.at("output").get_to(report.output);
    json.at("wall_s").get_to(report.wall_s);
    for (const Json& each : json.at("steps")) {
      StepReport& step = report.steps.emplace_back();
      each.at("step").get_to(step.step);
      each.at("completed").get_to(step.completed);
      each.at("warp_instructions").get_to(step.warp_instructions);
      for (const Json& finding : each.at("findings")) step.findings.push_back(finding_of(finding));
    }
    return report;
  });
}

}  // namespace kw::device
