// Events and experience as JSON, and read again.
#include "base/json_fields.h"
#include "search/event.h"
#include "search/memory.h"

namespace kw::search {
namespace {

using Json = nlohmann::json;

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json json_of(const Proposal& p) {
  return {{"state", p.state}, {"idea", p.idea}, {"priority", json_real(p.priority)}};
}

Json json_of(const Outcome& o) {
  return {{"works", o.works},
          {"seconds", json_real(o.seconds)},
          {"spread", json_real(o.spread)},
          {"joules", json_real(o.joules)},
          {"learned", o.learned},
          {"made", o.made}};
}

Proposal proposal_of(JsonFields& fields, const Json& json) {
  Proposal out;
  out.state = fields.words(json, "state");
  out.idea = fields.words(json, "idea");
  out.priority = fields.real(json, "priority");
  return out;
}

Outcome outcome_of(JsonFields& fields, const Json& json) {
  Outcome out;
  out.works = fields.flag(json, "works");
  out.seconds = fields.real(json, "seconds");
  out.spread = fields.real(json, "spread");
  out.joules = fields.real(json, "joules");
  out.learned = fields.words(json, "learned");
  if (json.is_object() && json.contains("made")) out.made = fields.words(json, "made");  // not in events of before it was
  return out;
}

}  // namespace

std::string_view kind_of(const Event& event) {
  return std::holds_alternative<Proposed>(event.what) ? "proposed" : "evaluated";
}

std::string event_json(const Event& event) {
  Json json{{"step", event.step}};
  if (const auto* proposed = std::get_if<Proposed>(&event.what)) {
    json["parent"] = proposed->parent;
    json["proposed"] = Json::array();
    for (const Proposal& p : proposed->proposals) json["proposed"].push_back(json_of(p));
  } else {
    const auto& evaluated = std::get<Evaluated>(event.what);
    json["parent"] = evaluated.parent;
    json["node"] = evaluated.node;
    json["proposal"] = json_of(evaluated.proposal);
    json["outcome"] = json_of(evaluated.outcome);
  }
  return line_of(json);
}

Result<Event> event_from(std::string_view text) {
  const Json json = parse_json(text);
  JsonFields fields;
  Event out;
  out.step = fields.number<uint64_t>(json, "step", 0);
  const auto parent = fields.number<NodeId>(json, "parent", kRoot);
  if (json.is_object() && json.contains("proposed")) {
    Proposed proposed{parent, {}};
    for (const Json& each : fields.list(json, "proposed"))
      proposed.proposals.push_back(proposal_of(fields, each));
    out.what = std::move(proposed);
  } else {
    Evaluated evaluated{fields.number<NodeId>(json, "node", kRoot), parent, {}, {}};
    evaluated.proposal = proposal_of(fields, fields.member(json, "proposal"));
    evaluated.outcome = outcome_of(fields, fields.member(json, "outcome"));
    out.what = std::move(evaluated);
  }
  KW_TRY_VOID(fields.complaint("the event of a search", ""));
  return out;
}

std::string experience_json(const Experience& e) {
  return line_of({{"tried", e.tried},
                  {"worked", e.worked},
                  {"faster", e.faster},
                  {"gain", json_real(e.gain)},
                  {"remarks", e.remarks}});
}

Result<Experience> experience_from(std::string_view text) {
  const Json json = parse_json(text);
  JsonFields fields;
  Experience out;
  out.tried = fields.number<uint64_t>(json, "tried", 0);
  out.worked = fields.number<uint64_t>(json, "worked", 0);
  out.faster = fields.number<uint64_t>(json, "faster", 0);
  out.gain = fields.real(json, "gain");
  out.remarks = fields.texts(json, "remarks");
  if (out.worked > out.tried || out.faster > out.worked) fields.complain("tried");
  if (out.remarks.size() > kRemarks) fields.complain("remarks");
  KW_TRY_VOID(fields.complaint("an entry of the search memory", ""));
  return out;
}

}  // namespace kw::search
