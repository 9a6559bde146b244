// The folder that a worker fills (worker.h) and import reads. Internal to judge.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "judge/bundle.h"

namespace kw::judge {

struct Answer {
  SuiteCase c;
  std::string verdict;   // JSON; empty: there is none
};

// The head of a results folder: which bundle, what ran it, and its cases without answers.
struct ResultsHead {
  std::string bundle, device;
  Suite suite;
};

// Makes the folder, or takes it up again; it is this process's until the result goes.
Result<UniqueFd> open_results(const std::string& folder, const ResultsHead& head);
Result<ResultsHead> read_results_head(const std::string& folder);
Status write_answer(const std::string& folder, size_t index, const Answer& answer);
// None: no answer yet.
Result<std::optional<Answer>> read_answer(const std::string& folder, size_t index);

}  // namespace kw::judge
