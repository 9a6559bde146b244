// A search for a faster kernel, recorded so that a kill at any moment loses what was being evaluated, and no more.
//
//   KW_TRY(const int64_t run, begin(store, settings, problem_text, source));   // a row of the store; nothing is evaluated yet
//   KW_TRY(const Ending ending, go_on(store, run, evaluate, hooks));             // to the end of the budget, or until asked to stop
//   KW_TRY(const std::string text, report(store, run));                        // report.h
//
// go_on() on a run that was stopped or killed makes the decisions that it would have made. Given the same evaluations a run is a
// function of its settings.
#pragma once

#include <functional>
#include <string>

#include "agent/evaluation.h"
#include "agent/exchanges.h"
#include "agent/kernel_space.h"
#include "agent/roles.h"
#include "search/search.h"
#include "store/store.h"

namespace kw::agent {

// How a language model takes part; no `spec`: none does.
struct ModelSettings {
  std::string spec;                        // docs/formats/llm.md; never holds a key
  std::string feedback = "advice";         // what it is shown of a kernel's speed: "advice", "counters", "none"
  int fixes = 5;
  std::optional<int> profile_after;        // none: by the problem's class
  uint64_t max_output_tokens = 32768;
  bool code = true;                        // may search code (code_tools.h)
  // What may be spent; of the whole run but for the wall time, which is of each life.
  std::optional<uint64_t> tokens;
  std::optional<double> money, price_in, price_out, wall_seconds;   // US dollars; prices for a million tokens
  bool remembers = true;                   // is told what earlier runs learned, and adds to it
  std::string memory;                      // object: that, as it was when the run began; begin() fills it in
};

// What decides a run; kept with it as JSON.
struct Settings {
  std::string problem_file, kernel_file;   // as named by whoever began it: for messages and reports
  std::string problem, kernel;             // objects: the problem's text, and the source that it starts from
  std::string target = "sm_80";
  std::string strategy = "mcts";           // search::name()
  uint64_t seed = 0;
  uint64_t evaluations = 16;               // the budget, the start not counted
  int in_flight = 1;                       // evaluations at once
  bool gpu = false;                        // times are measured
  ModelSettings model;
};
std::string settings_json(const Settings& settings);
// kInvalid: what is wrong. Any text.
Result<Settings> settings_from(std::string_view json);
// kInvalid: the run is no optimisation.
Result<Settings> settings_of(const store::RunRow& run);

struct Step {
  search::Evaluated what;
  const Evaluation& evaluation;
};
struct Watch {
  std::function<bool()> stop;                 // true: what is in flight is waited for, and no more begun
  std::function<void(const Step&)> evaluated; // of each, the start (node 0) too; not of those of an earlier life
  std::function<void(const search::Assignment&)> begins = {};   // before each is evaluated, in the thread that does it
};

// The model that a run asks.
struct ModelAccess {
  Ask ask;
  ModelTools tools;
  std::function<double(const llm::Usage&)> price;   // US dollars; empty: unknown
};

// kNotFound: the kernel has no tunables, and without a model nothing could be tried. kInvalid: it has some that are none; no such strategy.
Status can_begin(const Settings& settings, const std::string& source);

// Errors: can_begin()'s, the store's.
// With a model the source may be empty: then it writes the first kernel.
Result<int64_t> begin(SharedStore& store, Settings settings, const std::string& problem_text, const std::string& source);

// A run of the store that this process may go on with. kInvalid: it is another process's, or no optimisation.
Result<Settings> claim(SharedStore& store, int64_t run);

struct Ending {
  search::Ended how = search::Ended::kBudget;
  std::string why;   // it was stopped, where that is not the user's doing: the model's budget
};
// Errors: the store's, evaluate()'s and the model's; the run is then stopped, and can go on. A run with a model needs `model`.
Result<Ending> go_on(SharedStore& store, int64_t run, const Evaluate& evaluate, const Watch& watch = {}, const ModelAccess& model = {});

// Judges the best that was found once more, where it is right: beside rivals, say. That verdict then stands beside the one that it had.
Status judge_best_again(SharedStore& store, int64_t run, const Evaluate& evaluate);

// What is recorded of a run: the start's outcome, and the search's events. Used by report.h.
struct Recorded {
  std::optional<search::Root> root;
  std::vector<search::Event> events;
};
Result<Recorded> recorded_of(const Settings& settings, const store::Rows& rows);

}  // namespace kw::agent
