#include <cmath>
#include <nlohmann/json.hpp>

#include "base/demangle.h"
#include "emu/finding_text.h"
#include "judge/suite_json.h"

namespace kw::judge {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN or infinity; a reader must still be able to tell them apart.
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json json_of(const SourcePlace& place) {
  if (place.file.empty() && place.line == 0) return nullptr;
  return Json{{"file", place.file}, {"line", place.line}, {"column", place.column}};
}

Json json_of(const tensor::ErrorMetrics& m) {
  return Json{{"elements", m.elements},         {"failing", m.failing},
              {"kind_mismatches", m.kind_mismatches}, {"max_abs", number(m.max_abs)},
              {"max_rel", number(m.max_rel)},   {"rmse", number(m.rmse)},
              {"psnr_db", number(m.psnr)},      {"cosine", number(m.cosine)},
              {"max_ulp", number(m.max_ulp)},   {"budget_used", number(m.budget_used)}};
}

void add(Json& out, const WrongElement& element) {
  out.update({{"output", element.tensor},
              {"index", element.index},
              {"got", number(element.got)},
              {"expected", number(element.expected)},
              {"allowed", number(element.allowed)},
              {"unwritten", element.unwritten}});
}

Json json_of(const emu::Party& party) {
  emu::Reader reader;
  reader.is_own = is_candidates;
  const SourcePlace place = emu::place_of(party, reader);
  Json calls = Json::array();
  for (const SourcePlace& call : party.inlined_from) calls.push_back(json_of(call));
  return Json{{"kernel", party.kernel},     {"kernel_name", readable_name(party.kernel)},
              {"instruction", party.instruction},
              {"ptx_line", party.ptx_line}, {"source_file", party.source_file},
              {"source_line", party.source_line}, {"inlined_from", calls},
              {"place", is_candidates(place.file) ? json_of(place) : Json(nullptr)},
              {"block", party.block},
              {"warp", party.warp},         {"lane", party.lane},
              {"thread", party.thread}};
}

std::string_view space_name(ptx::Space space) {
  switch (space) {
    case ptx::Space::kNone: return "generic";
    case ptx::Space::kReg: return "register";
    case ptx::Space::kConst: return "const";
    case ptx::Space::kGlobal: return "global";
    case ptx::Space::kLocal: return "local";
    case ptx::Space::kParam: return "param";
    case ptx::Space::kShared: return "shared";
    case ptx::Space::kTex: return "texture";
  }
  return "";
}

Json json_of(const TensorElement& element) {
  if (element.role.empty()) return nullptr;
  return Json{{"tensor", element.tensor}, {"role", element.role}, {"dtype", element.dtype}, {"shape", element.shape},
              {"index", element.index.empty() && !element.shape.empty() ? Json(nullptr) : Json(element.index)}};
}

Json json_of(const emu::Finding& finding, const TensorElement& element) {
  Json out{{"kind", std::string(emu::name_of(finding.kind))},
           {"fatal", finding.fatal},
           {"message", finding.message},
           {"space", std::string(space_name(finding.space))},
           {"address", finding.address},
           {"bytes", finding.bytes},
           {"object", finding.object},
           {"object_offset", finding.object_offset},
           {"element", json_of(element)},
           {"count", finding.count},
           {"party", json_of(finding.party)}};
  if (finding.other) out["other"] = json_of(*finding.other);
  return out;
}

Json json_of(const Interval& interval) {
  return Json{{"middle", number(interval.middle)}, {"low", number(interval.low)}, {"high", number(interval.high)}};
}

Json json_of(const Timing& t) {
  Json rivals = Json::array();
  for (const Ratio& ratio : t.rivals)
    rivals.push_back({{"rival", ratio.rival}, {"sealed", ratio.sealed}, {"cold", ratio.cold ? json_of(*ratio.cold) : Json(nullptr)}, {"why", ratio.why},
                      {"joules", ratio.joules ? json_of(*ratio.joules) : Json(nullptr)}});
  return Json{{"workload", json_of(t.workload)},
              {"cold_s", t.groups > 0 ? json_of(t.cold_s) : Json(nullptr)},
              {"warm_s", t.warm_s ? json_of(*t.warm_s) : Json(nullptr)},
              {"calls", t.calls},
              {"groups", t.groups},
              {"launch_s", t.launch_s},
              {"process_s", t.process_s ? Json(*t.process_s) : Json(nullptr)},
              {"floor_s", t.floor_s > 0 ? Json(t.floor_s) : Json(nullptr)},
              {"trace", t.trace ? Json{{"source", "kernel activity trace"}, {"kernels_s", json_of(t.trace->kernels_s)}, {"agreement", json_of(t.trace->agreement)},
                                       {"added_s", t.trace->added_s}, {"slowed", t.trace->slowed}}
                                : Json(nullptr)},
              {"untraced", t.untraced},
              {"energy", t.energy ? Json{{"joules", json_of(t.energy->joules)}, {"spread", t.energy->spread}, {"idle_w", t.energy->idle_w}, {"loaded_w", t.energy->loaded_w},
                                         {"loops", t.energy->loops}, {"loop_s", t.energy->loop_s}, {"update_s", t.energy->update_s}}
                                  : Json(nullptr)},
              {"unmetered", t.unmetered},
              {"rivals", rivals},
              {"conditions", {{"sm_mhz_low", t.conditions.sm_mhz_low}, {"sm_mhz_high", t.conditions.sm_mhz_high}, {"power_w", t.conditions.power_w},
                              {"temperature_c", t.conditions.temperature_c}, {"slowed_by", t.conditions.slowed_by},
                              {"other_processes", t.conditions.other_processes}}}};
}

struct OutcomeJson {
  Json operator()(const CompileError& e) const {
    Json list = Json::array();
    for (const auto& d : e.diagnostics) list.push_back({{"place", json_of(d.place)}, {"message", d.message}});
    return Json{{"diagnostics", list}, {"log", e.log}};
  }
  Json operator()(const Unrecordable& u) const {
    return Json{{"workload", json_of(u.workload)}, {"call", u.call}, {"message", u.message}, {"place", json_of(u.place)},
                {"notes", u.notes}, {"printed", u.printed}};
  }
  Json operator()(const ContractViolation& c) const {
    return Json{{"workload", json_of(c.workload)}, {"message", c.message}, {"place", json_of(c.place)}, {"notes", c.notes}};
  }
  Json operator()(const Wrong& w) const {
    Json out{{"workload", json_of(w.workload)}};
    add(out, w.first);
    out.update({{"tolerance", w.tolerance}, {"metrics", json_of(w.metrics)}, {"pattern", w.pattern}, {"minimal", nullptr}, {"first_wrong_piece", nullptr}});
    if (w.minimal) {
      Json& minimal = out["minimal"] = Json{{"workload", json_of(w.minimal->workload)}, {"runs", w.minimal->runs}};
      add(minimal, w.minimal->first);
    }
    if (w.first_wrong_piece) add(out["first_wrong_piece"] = Json::object(), *w.first_wrong_piece);
    return out;
  }
  Json operator()(const Nondeterministic& n) const {
    return Json{{"workload", json_of(n.workload)}, {"output", n.output}, {"index", n.index},
                {"first", number(n.first)}, {"second", number(n.second)},
                {"first_schedule", n.first_schedule}, {"second_schedule", n.second_schedule},
                {"differing", n.differing}, {"elements", n.elements}};
  }
  Json operator()(const Unsafe& u) const {
    Json list = Json::array();
    for (size_t i = 0; i < u.findings.size(); ++i) {
      list.push_back(json_of(u.findings[i], i < u.elements.size() ? u.elements[i] : TensorElement{}));
    }
    return Json{{"workload", json_of(u.workload)}, {"step", u.step}, {"numbers_right", u.numbers_right}, {"findings", list}};
  }
  Json operator()(const Timeout& t) const {
    return Json{{"workload", json_of(t.workload)}, {"what", t.what}, {"limit_s", t.limit_s}};
  }
  Json operator()(const NotChecked& n) const { return Json{{"message", n.message}, {"right_on_gpu", n.right_on_gpu}}; }
  Json operator()(const Suspect& s) const {
    return Json{{"workload", json_of(s.workload)}, {"defence", s.defence}, {"evidence", s.evidence}};
  }
  Json operator()(const Correct& c) const {
    const auto list = [](const std::vector<Correct::Output>& worst) {
      Json out = Json::array();
      for (const auto& o : worst) {
        out.push_back({{"output", o.output}, {"worst_workload", json_of(o.workload)}, {"metrics", json_of(o.metrics)}});
      }
      return out;
    };
    Json times = Json::array();
    for (const Timing& t : c.times) times.push_back(json_of(t));
    return Json{{"workloads", c.workloads}, {"values", c.values}, {"schedules", c.schedules}, {"outputs", list(c.outputs)},
                {"pieces", list(c.pieces)}, {"on_gpu", c.on_gpu}, {"times", times}};
  }
};

}  // namespace

std::string to_json(const Verdict& verdict) {
  Json ladder = Json::array();
  for (const RungReport& rung : verdict.ladder) {
    ladder.push_back({{"rung", std::string(name_of(rung.rung))},
                      {"status", std::string(name_of(rung.status))},
                      {"seconds", rung.seconds},
                      {"detail", rung.detail}});
  }
  Json sources = Json::array();
  for (const Evidence::File& file : verdict.evidence.sources) sources.push_back({{"path", file.path}, {"hash", file.hash}});
  const Options& asked = verdict.options;
  Json out{{"schema", std::string(kVerdictSchema)},
           {"problem", verdict.problem},
           {"problem_file", verdict.problem_file},
           {"candidate", verdict.candidate},
           {"candidate_hash", verdict.candidate_hash},
           {"target", verdict.target},
           {"seed", verdict.seed},
           {"options", {{"judge_shapes", asked.judge_shapes}, {"value_changes", asked.value_changes}, {"schedules", asked.schedules},
                        {"kernel_deadline_s", asked.kernel_deadline_s}, {"host_deadline_s", asked.host_deadline_s},
                        {"record_deadline_s", asked.record_deadline_s}}},
           {"evidence", {{"problem", verdict.evidence.problem}, {"sources", sources}}},
           {"device", verdict.sealed ? "PTX emulator" : "PyTorch"},
           {"sealed", verdict.sealed},
           {"gpu", verdict.gpu.empty() ? Json(nullptr) : Json(verdict.gpu)},
           {"verdict", std::string(name_of(verdict.outcome))},
           {"decided_by", verdict.decided_by ? Json(std::string(name_of(*verdict.decided_by))) : Json(nullptr)},
           {"ladder", ladder},
           {"outcome", std::visit(OutcomeJson{}, verdict.outcome)}};
  // Compilers and kernels print bytes of any kind.
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kw::judge
