// The kernels that a search walks without a model: states are hashes of sources in a store, a step is another value for one tunable. Thread-safe, as
// the search asks.
#pragma once

#include <mutex>
#include <string>

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

class KnownEvaluations;

class KernelSpace final : public search::Environment {
 public:
  // `file`: as errors name the source.
  KernelSpace(SharedStore& store, std::string file, KnownEvaluations& evaluations) : store_(store), file_(std::move(file)), evaluations_(evaluations) {}

  // Neighbours first: a value beside the present one in its list is the stronger advice. From what a state was made into.
  Result<std::vector<search::Proposal>> propose(const search::Situation& situation) override;
  Result<search::Outcome> evaluate(const search::Assignment& assignment) override;

 private:
  SharedStore& store_;
  std::string file_;
  KnownEvaluations& evaluations_;
};

// The hash of the source that a state stands for.
const std::string& made_of(const search::Tried& tried);

}  // namespace kw::agent
