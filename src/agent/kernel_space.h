// The kernels that a search walks: states are hashes of sources in a store, a step is another value for one tunable. Thread-safe, as
// the search asks.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "agent/evaluation.h"
#include "search/environment.h"
#include "store/store.h"

namespace kw::agent {

// One store for several threads.
class SharedStore {
 public:
  explicit SharedStore(store::Store& store) : store_(store) {}
  template <typename Call>
  auto with(const Call& call) {
    const std::lock_guard lock(mutex_);
    return call(store_);
  }

 private:
  std::mutex mutex_;
  store::Store& store_;
};

class KernelSpace final : public search::Environment {
 public:
  // `file`: as errors name the source.
  KernelSpace(SharedStore& store, std::string file, Evaluate evaluate) : store_(store), file_(std::move(file)), evaluate_(std::move(evaluate)) {}

  // Neighbours first: a value beside the present one in its list is the stronger advice.
  Result<std::vector<search::Proposal>> propose(const search::Situation& situation) override;
  Result<search::Outcome> evaluate(const search::Assignment& assignment) override;
  // What the evaluation of a node was, once; the search keeps its outcome only.
  Evaluation take(search::NodeId node);

 private:
  SharedStore& store_;
  std::string file_;
  Evaluate evaluate_;
  std::mutex mutex_;
  std::map<search::NodeId, Evaluation> evaluations_;
};

}  // namespace kw::agent
