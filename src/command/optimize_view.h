// What a search for a faster kernel shows while it goes on: a line for each candidate, or on a terminal that can rewrite what it shows
// (Output::live) one block that always has the present state: the budget, the best so far and the way to it, what is being tried.
// Only lines go up and are written again: no other mode of the terminal, so whatever ends the program leaves it as it was.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/report_data.h"
#include "command/command.h"

namespace kw::command {

// Texts in it may be anything.
struct View {
  struct Trying {
    search::NodeId parent = search::kRoot;
    std::string idea;
  };
  uint64_t evaluations = 0;                     // the budget
  profile::Grade grade = profile::Grade::kEstimated;   // of times
  agent::Attempts attempts;
  std::map<search::NodeId, Trying> trying;      // being evaluated
  std::optional<search::NodeId> last;           // that was evaluated
  bool ended = false;
};

inline constexpr size_t kMostViewLines = 12;

// Not more than kMostViewLines, none wider than `width` columns. Pure.
std::vector<std::string> view_lines(const View& view, size_t width);

// Of one candidate: what was changed, what became of it, how it stands to the start. With its end.
std::string attempt_line(const View& view, search::NodeId node);

// Shows it. Thread-safe.
class SearchProgress {
 public:
  // `so_far`: of a run that is gone on with.
  SearchProgress(const Output& output, const agent::ReportData& so_far);
  void begins(const search::Assignment& what);
  void evaluated(const agent::Step& step);
  void ended();

 private:
  void show();   // the block, over the one before

  const Output& output_;
  std::mutex mutex_;
  View view_;
  size_t shown_ = 0;   // lines of the block that is there
};

}  // namespace kw::command
