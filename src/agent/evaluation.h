// What a candidate is worth: the judge's verdict, and where that is "correct" a time, measured on a GPU or estimated by the
// profiler. A candidate that is not correct has no time that counts.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/verdict.h"
#include "problem/problem.h"
#include "profile/advice.h"
#include "profile/metric.h"
#include "search/environment.h"

namespace kw::agent {

struct WorkloadTime {
  std::string workload;
  double seconds = 0;
  double floor_seconds = 0;         // no kernel is faster that does all that the problem names (profile/roofline.h); 0: not known
};

struct Evaluation {
  search::Outcome outcome;          // seconds: the geometric mean over the workloads
  std::string verdict;              // JSON (docs/formats/verdict.md)
  std::string rung;                 // that decided; empty: none failed
  std::string name;                 // of the verdict: "correct", "wrong"; "no estimate": correct, but without a time
  std::string text() const { return rung.empty() ? name : name + " at " + rung; }   // "wrong at shapes"
  std::vector<WorkloadTime> times;
  profile::Grade grade = profile::Grade::kEstimated;   // of the times
  std::vector<profile::Advice> advice;                 // for the first workload, the best gain first
  std::string page;                 // the verdict, for who is to mend it
  std::string profile, counters;    // of the first workload: what bounds it and what to change; and the bare numbers
};

// One document that gives the evaluation back.
std::string to_json(const Evaluation& evaluation);
Result<Evaluation> evaluation_from(std::string_view json);   // any text

// Errors: what is the judge's or the machine's fault, not the candidate's.
using Evaluate = std::function<Result<Evaluation>(const std::string& source)>;

// Judges the source, as a file of this name, and takes times: with judge.gpu and judge.time on it, else by estimate, for every
// real workload, or where there is none for the one that the profiler takes. `judge.seed` is the run's: each source has a seed of
// its own that follows from it. Thread-safe.
Evaluate judge_and_estimate(const problem::Problem& problem, const std::string& file_name, const judge::Options& judge);

}  // namespace kw::agent
