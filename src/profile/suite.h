// A suite of candidates with known faults: each is profiled, and what the tools say is compared with what they must say.
// Gives precision and recall for every tool. A fixture is a .cu file with keys in its head comment, or a .case file that
// edits another candidate (docs/formats/profile.md).
// Errors: a folder or fixture that cannot be read, with its line. A candidate that cannot be profiled deviates. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/keyed_text.h"
#include "base/result.h"
#include "profile/profile.h"

namespace kw::profile {

struct Fixture {
  std::string name, file;            // "gemm_naive"
  std::string problem, candidate;    // paths; with edits, of the file that they change
  std::vector<TextEdit> edits;
  std::string target = "sm_80", workload;
  std::vector<std::string> expects, forbids;   // tools
  std::vector<std::pair<std::string, std::string>> followed;   // a tool, and the fixture that is this one with its advice followed
};
Result<Fixture> read_fixture(std::string_view text, const std::string& file);

struct SuiteCase {
  std::string name;
  std::vector<std::string> fired;    // tools
  std::vector<std::string> why;      // what deviates; empty: nothing
  std::string problem;
  double estimated_s = 0, measured_s = 0;   // measured: with SuiteOptions::profile.gpu
  std::map<std::string, double, std::less<>> gains;     // by tool, the largest that it expects
  double seconds = 0;
};

struct Suite {
  struct Score {
    int found = 0, missed = 0, spared = 0, wrong = 0;   // of fixtures that expect the tool, and of those that forbid it
  };
  std::vector<SuiteCase> cases;               // by name
  std::map<std::string, Score, std::less<>> scores;      // by tool
  // Advice that was followed, and what came of it on the GPU.
  struct Followed {
    std::string fixture, tool, becomes;
    double expected = 0, gained = 0;          // times faster
  };
  std::vector<Followed> followed;
  double seconds = 0;
  bool as_expected() const;
};

struct SuiteOptions {
  Options profile;                   // workload is the fixtures', and without a GPU the target
  int jobs = 0;                      // 0: one per core
};
Result<Suite> run_suite(const std::string& folder, const SuiteOptions& options,
                        const std::function<void(const SuiteCase&, size_t done, size_t all)>& progress = {});

// A line for each tool: how many faults it found and missed, how many sound kernels it spared, precision, recall.
std::string table_of(const Suite& suite);

// What was measured: estimate and time of every fixture, their rank correlation for each problem and over all, advice that was
// followed with the gain it expected and the one that was seen. Empty without a GPU.
std::string measured_table_of(const Suite& suite);

}  // namespace kw::profile
