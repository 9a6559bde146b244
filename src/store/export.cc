#include "store/export.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "store/tables.h"

namespace kw::store {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::string& text) { return text; }
Json json_of(bool flag) { return flag; }
Json json_of(int64_t number) { return number; }
Json json_of(uint64_t number) { return number; }
Json json_of(RunState state) { return static_cast<int>(state); }
Json json_of(double number) {
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;  // what is no number becomes null
}
template <typename T>
Json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : Json();
}

template <typename Row>
Json json_of_row(const Row& row) {
  Json out = Json::object();
  std::apply([&](const auto&... c) { ((out[c.name] = json_of(row.*c.member)), ...); }, Table<Row>::kColumns);
  return out;
}

template <typename Row>
void add_list(Json& json, const std::vector<Row>& rows) {
  Json& list = json[Table<Row>::kName] = Json::array();
  for (const Row& row : rows) list.push_back(json_of_row(row));
}

std::set<std::string> objects_of(const Rows& rows) {
  std::set<std::string> out;
  for (const NodeRow& node : rows.nodes) out.insert(node.candidate);
  for (const VerdictRow& verdict : rows.verdicts) out.insert(verdict.verdict);
  for (const ExchangeRow& exchange : rows.exchanges) out.insert({exchange.prompt, exchange.reply});
  for (const EvaluationRow& each : rows.evaluations) out.insert({each.candidate, each.evaluation});
  out.erase("");
  return out;
}

}  // namespace

Result<Exported> export_run(Store& store, int64_t id) {
  KW_TRY(const RunRow run, store.run(id));
  KW_TRY(const Rows rows, store.rows(id));
  Exported out;
  out.files.push_back({"run.json", ""});
  for (const std::string& hash : objects_of(rows)) {
    auto bytes = store.object(hash);
    if (bytes)
      out.files.push_back({"objects/" + hash, std::move(*bytes)});
    else
      out.missing.push_back(hash);
  }
  Json json{{"kernelwright_run", 1}, {"run", json_of_row(run)}};
  add_list(json, rows.nodes);
  add_list(json, rows.verdicts);
  add_list(json, rows.metrics);
  add_list(json, rows.advice);
  add_list(json, rows.exchanges);
  add_list(json, rows.evaluations);
  add_list(json, rows.events);
  json["missing"] = out.missing;
  // What programs wrote into notes need not be UTF-8.
  out.files[0].content = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  return out;
}

}  // namespace kw::store
