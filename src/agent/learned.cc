#include "agent/learned.h"

#include <algorithm>

#include "base/json_fields.h"

namespace kw::agent {
namespace {

constexpr std::string_view kMended = "mended/CUDA/";
constexpr size_t kMostSuggestion = 600;

std::string prefix_of(WorkloadClass workload) { return fmt::format("idea/{}/", name_of(workload)); }

}  // namespace

std::string to_json(const Learned& learned) {
  nlohmann::json ideas = nlohmann::json::object(), mended = nlohmann::json::object();
  for (const auto& [idea, experience] : learned.ideas) ideas[idea] = search::experience_json(experience);
  for (const auto& [fault, suggestion] : learned.mended) mended[fault] = suggestion;
  return nlohmann::json{{"ideas", ideas}, {"mended", mended}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Learned> learned_from(std::string_view text) {
  const nlohmann::json json = parse_json(text);
  JsonFields fields;
  Learned out;
  const nlohmann::json& ideas = fields.member(json, "ideas");
  for (auto each = ideas.begin(); ideas.is_object() && each != ideas.end(); ++each) {
    KW_TRY(out.ideas[each.key()], search::experience_from(fields.words(ideas, each.key().c_str())));
  }
  const nlohmann::json& mended = fields.member(json, "mended");
  for (auto each = mended.begin(); mended.is_object() && each != mended.end(); ++each) out.mended[each.key()] = fields.words(mended, each.key().c_str());
  KW_TRY_VOID(fields.complaint("what was learned", "the store"));
  return out;
}

Result<Learned> learned_before(store::Store& store, WorkloadClass workload) {
  const std::string prefix = prefix_of(workload);
  KW_TRY(const std::vector<store::MemoryRow> rows, store.memory());
  Learned out;
  for (const store::MemoryRow& row : rows) {
    if (row.key.starts_with(prefix)) {
      KW_TRY(out.ideas[row.key.substr(prefix.size())], search::experience_from(row.value));
    }
    if (row.key.starts_with(kMended)) out.mended[row.key.substr(kMended.size())] = row.value;
  }
  return out;
}

Status remember(store::Store& store, int64_t run, WorkloadClass workload, const Learned& before, const search::Memory& after, const std::vector<Mended>& mended) {
  const std::string done = fmt::format("learned from/{}", run);
  KW_TRY(const std::vector<store::MemoryRow> memory, store.memory());
  if (std::any_of(memory.begin(), memory.end(), [&](const store::MemoryRow& row) { return row.key == done; })) return {};
  KW_TRY(const Learned now, learned_before(store, workload));
  store::Rows rows;
  rows.memory.push_back({done, ""});
  for (const auto& [idea, experience] : after) {
    const auto was = before.ideas.find(idea);
    const auto is = now.ideas.find(idea);
    search::Experience sum = is == now.ideas.end() ? search::Experience() : is->second;
    const search::Experience then = was == before.ideas.end() ? search::Experience() : was->second;
    if (experience.tried == then.tried) continue;
    sum.tried += experience.tried - then.tried;
    sum.worked += experience.worked - then.worked;
    sum.faster += experience.faster - then.faster;
    sum.gain += experience.gain - then.gain;
    sum.remarks = experience.remarks;
    rows.memory.push_back({prefix_of(workload) + idea, search::experience_json(sum)});
  }
  for (const Mended& each : mended) rows.memory.push_back({std::string(kMended) + each.fault, each.suggestion.substr(0, kMostSuggestion)});
  return store.add(rows);
}

}  // namespace kw::agent
