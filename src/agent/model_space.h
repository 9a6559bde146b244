// The kernels that a search walks with a language model: a step is one change that the planner proposed, carried out by the coder, judged, and mended where the
// judge refuses it (generate, test, refine: CuTeGen); or, at no cost in tokens, another value for a tunable of what the model wrote.
//
// States are hashes of sources, as in KernelSpace, or ideas: a JSON object with the source that they start from. An outcome's `made` is the source that came of it.
// Thread-safe, as the search asks.
#pragma once

#include <map>
#include <string>

#include "agent/evaluation.h"
#include "agent/kernel_space.h"
#include "agent/roles.h"

namespace kw::agent {

// What a model is shown of how fast a kernel is.
enum class Feedback : uint8_t { kAdvice, kCounters, kNone };
std::optional<Feedback> feedback_named(std::string_view name);   // "advice", "counters", "none"

struct ModelTerms {
  int fixes = 5;                       // of one step, at the most (CuTeGen's number)
  int profile_after = 0;               // changes before a profile is shown (workload_class.h)
  Feedback feedback = Feedback::kAdvice;
  bool measured = false;               // times are
  std::map<std::string, std::string> mended;   // what mended a fault before, by fault_of()
};

// A repair that led to a kernel that is right.
struct Mended {
  std::string fault, suggestion;
};

class ModelSpace final : public search::Environment {
 public:
  ModelSpace(SharedStore& store, KernelSpace& tunables, KnownEvaluations& evaluations, const Roles& roles, ModelTerms terms)
      : store_(store), tunables_(tunables), evaluations_(evaluations), roles_(roles), terms_(std::move(terms)) {}

  Result<std::vector<search::Proposal>> propose(const search::Situation& situation) override;
  Result<search::Outcome> evaluate(const search::Assignment& assignment) override;

  std::vector<Mended> mended() const;  // so far, in this life

 private:
  struct Step {
    std::string kernel;                // the source's hash
    Idea idea;
    int depth = 0;                     // changes by the model before it
  };
  static std::string state_of(const Step& step);
  static Result<Step> step_from(const std::string& state);
  Result<std::string> source_of(const std::string& hash) { return store_.with([&](store::Store& store) { return store.object(hash); }); }
  Result<Subject> subject_of(const std::string& source, int depth);
  Result<search::Outcome> refine(const Step& step, const std::string& parent);
  Result<std::string> reviewed(const std::string& parent, const std::string& source, const Idea& idea, const Evaluation& before, const Evaluation& after);
  std::string learned_of(const Evaluation& evaluation) const;

  SharedStore& store_;
  KernelSpace& tunables_;
  KnownEvaluations& evaluations_;
  const Roles& roles_;
  const ModelTerms terms_;
  mutable std::mutex mutex_;
  std::vector<Mended> mended_;
};

// What a fault is called, alike for faults of one kind: the verdict, and of a compiler its first message without names and numbers.
std::string fault_of(const Evaluation& evaluation);

}  // namespace kw::agent
