// What the candidates of a run are worth, found out once for each: in the store before it is used, and looked up after that, in a later life of the run too.
// Thread-safe; one that is asked for twice at the same time may be found out twice.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "agent/evaluation.h"
#include "agent/kernel_space.h"

namespace kw::agent {

class KnownEvaluations {
 public:
  // `rows`: those of the run that are there.
  KnownEvaluations(SharedStore& store, int64_t run, Evaluate evaluate, const std::vector<store::EvaluationRow>& rows);

  // Errors: evaluate()'s, the store's.
  Result<Evaluation> of(const std::string& source);
  Result<Evaluation> known(const std::string& candidate);   // by the hash of its source; kNotFound

 private:
  SharedStore& store_;
  const int64_t run_;
  const Evaluate evaluate_;
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> known_;   // objects, by the candidate's
};

}  // namespace kw::agent
