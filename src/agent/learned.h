// What runs with a model learn and later ones are told: how each kind of change fared, and what mended each kind of fault. In the store's memory, by class of
// workload; a run takes it as it is when the run begins, and adds what it saw when it ends.
#pragma once

#include <map>
#include <string>

#include "agent/model_space.h"
#include "search/memory.h"

namespace kw::agent {

struct Learned {
  search::Memory ideas;                            // of one class of workload
  std::map<std::string, std::string> mended;       // a suggestion, by fault_of()
};
std::string to_json(const Learned& learned);
Result<Learned> learned_from(std::string_view json);   // any text

Result<Learned> learned_before(store::Store& store, WorkloadClass workload);
// Adds to what is there what came since `before`, once for each run, however often it is gone on with.
Status remember(store::Store& store, int64_t run, WorkloadClass workload, const Learned& before, const search::Memory& after, const std::vector<Mended>& mended);

}  // namespace kw::agent
