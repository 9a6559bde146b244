#include "agent/known_evaluations.h"

#include "base/hash.h"

namespace kw::agent {

KnownEvaluations::KnownEvaluations(SharedStore& store, int64_t run, Evaluate evaluate, const std::vector<store::EvaluationRow>& rows)
    : store_(store), run_(run), evaluate_(std::move(evaluate)) {
  for (const store::EvaluationRow& row : rows) known_[row.candidate] = row.evaluation;
}

Result<Evaluation> KnownEvaluations::known(const std::string& candidate) {
  std::string object;
  {
    const std::lock_guard lock(mutex_);
    const auto at = known_.find(candidate);
    if (at == known_.end()) return fail(ErrorCode::kNotFound, "the run has not evaluated {}", candidate);
    object = at->second;
  }
  KW_TRY(const std::string text, store_.with([&](store::Store& store) { return store.object(object); }));
  return evaluation_from(text);
}

Result<Evaluation> KnownEvaluations::of(const std::string& source) {
  const std::string candidate = hash_hex(source);
  if (auto before = known(candidate); before || before.error().code != ErrorCode::kNotFound) return before;
  KW_TRY(Evaluation evaluation, evaluate_(source));
  const std::lock_guard lock(mutex_);
  if (known_.contains(candidate)) return evaluation;
  KW_TRY_VOID(store_.with([&](store::Store& store) -> Status {
    store::EvaluationRow row{run_, candidate, ""};
    KW_TRY_VOID(store.put(source));
    KW_TRY(row.evaluation, store.put(to_json(evaluation)));
    known_[candidate] = row.evaluation;
    store::Rows rows;
    rows.evaluations.push_back(std::move(row));
    return store.add(rows);
  }));
  return evaluation;
}

}  // namespace kw::agent
