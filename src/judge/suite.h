// A suite: every fixture of a folder judged, several at once, and each verdict compared with the one it must get.
// Errors: a folder or a fixture that cannot be read, a machine that cannot judge. A candidate never stops a suite, and
// neither does a fixture that the judge cannot judge: that one is not as expected, and says why. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "judge/evaluate.h"
#include "judge/fixture.h"

namespace kw::judge {

struct SuiteCase {
  std::string name, target;          // "wrong/last_element", "sm_80"
  std::string expected, got;         // "wrong at shapes"; got is "error" when there is no verdict
  std::vector<std::string> why;      // what is not as expected; empty: as expected
  std::string page;                  // what a person would read; empty without a verdict
  double seconds = 0;                // wall time
  uint64_t seed = 0;                 // repeats the verdict
  bool as_expected() const { return why.empty(); }
};

struct Suite {
  std::string folder;
  std::vector<SuiteCase> cases;      // by name, then target
  double seconds = 0;
  size_t as_expected() const;
};

// Called after each case, from any thread, one call at a time.
using SuiteProgress = std::function<void(const SuiteCase&, size_t done, size_t all)>;

struct SuiteOptions {
  Options judge;                     // threads: of each case. With time one case at once, if jobs says nothing else. A seed makes every case's own follow from it
  int jobs = 0;                      // cases at once; 0: one per core
  bool same_seed = false;            // the seed itself is every case's
};

// Without a compiler for CUDA there is no use in beginning, if any fixture is in CUDA; one of another language that has none says so itself.
Status have_compiler(const std::vector<Fixture>& fixtures);
Result<Suite> run_suite(const std::string& folder, const SuiteOptions& options, const SuiteProgress& progress = {});

// --- what is also done to a suite elsewhere (bundle.h, worker.h)
// Every case of every fixture, and its fixture.
std::pair<Suite, std::vector<const Fixture*>> cases_of(const std::string& folder, const std::vector<Fixture>& fixtures);
// Works on the cases, several at once. A Status that is an error becomes the case's answer.
void for_each_case(Suite& suite, int jobs, const std::function<Status(size_t index, SuiteCase& c)>& work, const SuiteProgress& progress);
// What the judge is asked for a case: deadlines of the fixture, the case's own seed.
// A process of a candidate's own, where there is one to be had: its kernels cannot end, or write into, what runs beside it.
Result<std::shared_ptr<device::Device>> own_gpu(const std::shared_ptr<device::Device>& shared);
Options options_of(const Fixture& fixture, const SuiteCase& c, const SuiteOptions& asked);
// The verdict against what is expected. `candidate`: where the sources are, for the page.
void settle(SuiteCase& c, const Fixture& expected, const Verdict& verdict, const std::string& candidate);

// One line: "as expected  wrong/last_element sm_80  wrong at shapes  0.8 s"; with what differs below it.
std::string line_of(const SuiteCase& c);
// "111 of 113 as expected"
std::string closing_line(const Suite& suite);
// JUnit XML as CI systems read it: one testsuite, a testcase per case, the page in its failure.
std::string junit_xml(const Suite& suite);
// A Markdown summary: the closing line, a table of what differed, and the pages folded away.
std::string markdown_summary(const Suite& suite);

}  // namespace kw::judge
