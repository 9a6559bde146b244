// What the store holds of a run, as data: what every form of its report is written from (report.h), and what the live view begins with.
// Texts in it come from files of anybody and from models: whoever writes them somewhere escapes them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/optimize.h"
#include "search/objective.h"

namespace kw::agent {

// A candidate that was evaluated.
struct Attempt {
  search::NodeId parent = search::kRoot;   // of the start, itself
  std::string source;                      // an object
  std::string idea, verdict;               // "kVector = 4 instead of 1", "wrong at shapes"
  search::Outcome outcome;
  bool works() const { return search::usable(outcome); }
};
using Attempts = std::map<search::NodeId, Attempt>;   // the start is search::kRoot

// The start where nothing works.
search::NodeId best_of(const Attempts& attempts);
// From the first that has no parent before itself, the start as a rule, to `node`; empty where that is none of them.
std::vector<search::NodeId> path_to(const Attempts& attempts, search::NodeId node);
// The start's time over `node`'s own, where both have one.
std::optional<double> gain_of(const Attempts& attempts, search::NodeId node);

struct Best {
  search::NodeId node = search::kRoot;
  std::string source;
  bool works = false;     // false: nothing that was tried is right
  double gain = 1;        // the start's time over its own; 1 where the start has none
  profile::Grade grade = profile::Grade::kEstimated;   // of that, and of every time of the run
};

struct WorkloadTimes {
  std::string workload;
  std::optional<double> start, best;   // seconds
  std::optional<double> gain() const;
};

struct RungLine {
  std::string rung, status, detail;
};

// The best against another implementation, timed together with it.
struct RivalRatio {
  std::string workload, rival;
  std::optional<double> ratio;   // the rival's time over the best's
  double low = 0, high = 0;      // that lies in there
  std::string why;               // there is no ratio
};

// Where start and best stand below what memory and arithmetic allow (profile/roofline.h).
struct Roofs {
  struct Compute {
    std::string of;                    // "fp32", "tensor cores, f16"
    double operations_per_second = 0;
  };
  struct Point {
    std::string workload;
    double intensity = 0;              // operations of the reference for each byte that has to be moved
    size_t compute = 0;                // its roof
    std::optional<double> start, best; // operations a second: attained
    double allowed = 0;                // by the lower roof
  };
  double bytes_per_second = 0;
  std::vector<Compute> compute;
  std::vector<Point> points;           // at least one
  std::string memory_source, compute_source;   // whose they are, and who says so
};

struct ReportData {
  int64_t run = 0;
  bool ended = false;                  // by itself: nothing more is to come
  Settings settings;
  Attempts attempts;                   // empty: the start is not judged yet
  Best best;
  std::vector<WorkloadTimes> workloads;   // of the best, where it works
  std::vector<RungLine> ladder;           // the same
  std::vector<RivalRatio> rivals;         // the same
  std::string difference;              // from the start to the best, as line_diff(); empty: none
  Spent spent;                         // on a model
  std::optional<Roofs> roofs;          // none: nothing to draw, or the store's problem is none

  size_t evaluated() const { return attempts.empty() ? 0 : attempts.size() - 1; }
  std::string headline() const;        // "1.96 times as fast, by estimate: no GPU was used"
  std::string spending() const;        // "12 exchanges, 34567 tokens in and 8901 out"
  std::string basis() const;           // how far times and verdicts go, in sentences
};

// kInvalid: no optimisation. kNotFound: no such run. The store's.
Result<ReportData> report_data(SharedStore& store, int64_t run);

std::string duration_text(double seconds);   // "12.3 us"

}  // namespace kw::agent
