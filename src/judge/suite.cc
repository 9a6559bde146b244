#include "judge/suite.h"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "base/file.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "judge/page.h"
#include "problem/problem.h"
#include "toolchain/toolchain.h"

namespace kw::judge {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string verdict_text(std::string_view verdict, std::string_view rung) {
  return rung.empty() ? std::string(verdict) : fmt::format("{} at {}", verdict, rung);
}

Status judge_one(const Fixture& fixture, const SuiteOptions& options, const std::string& folder, SuiteCase& out) {
  KW_TRY(const problem::Problem problem, problem::load_problem(fixture.problem));
  KW_TRY(const std::string candidate, materialise(fixture, folder));
  Options judge = options.judge;
  judge.target = out.target;
  if (judge.seed) judge.seed = Rng(*judge.seed).fork(out.name + " " + out.target).next();
  if (judge.threads == 0) judge.threads = 1;
  if (fixture.host_deadline_s > 0) judge.host_deadline_s = fixture.host_deadline_s;
  if (fixture.record_deadline_s > 0) judge.record_deadline_s = fixture.record_deadline_s;
  if (fixture.kernel_deadline_s > 0) judge.kernel_deadline_s = fixture.kernel_deadline_s;
  KW_TRY(const Verdict verdict, evaluate(problem, candidate, judge));
  out.seed = verdict.seed;
  out.page = page(verdict, source_text_of(candidate));
  out.got = verdict_text(name_of(verdict.outcome), verdict.decided_by ? name_of(*verdict.decided_by) : "");
  out.why = mismatches(fixture, verdict, out.page);
  return {};
}

}  // namespace

size_t Suite::as_expected() const {
  return static_cast<size_t>(std::count_if(cases.begin(), cases.end(), [](const SuiteCase& c) { return c.as_expected(); }));
}

Result<Suite> run_suite(const std::string& folder, const SuiteOptions& options,
                        const std::function<void(const SuiteCase&, size_t, size_t)>& progress) {
  KW_TRY(const std::vector<Fixture> fixtures, find_fixtures(folder));
  KW_TRY_VOID(toolchain::find_nvcc());
  KW_TRY(const TempDir scratch, TempDir::create("kw-suite"));
  Suite suite;
  suite.folder = folder;
  std::vector<const Fixture*> fixture_of;
  for (const Fixture& fixture : fixtures) {
    for (const std::string& target : fixture.targets) {
      SuiteCase c;
      c.name = fixture.name;
      c.target = target;
      c.expected = verdict_text(fixture.verdict, fmt::format("{}", fmt::join(fixture.rungs, " or ")));
      suite.cases.push_back(std::move(c));
      fixture_of.push_back(&fixture);
    }
  }
  const auto begin = Clock::now();
  std::mutex mutex;
  size_t done = 0;
  parallel_for(suite.cases.size(), options.jobs > 0 ? options.jobs : available_cores(), [&](uint64_t i) {
    SuiteCase& c = suite.cases[i];
    const auto started = Clock::now();
    const Status status = judge_one(*fixture_of[i], options, fmt::format("{}/{}", scratch.path(), i), c);
    if (!status) {
      c.got = "error";
      c.why = {format_error(status.error())};
    }
    c.seconds = since(started);
    const std::lock_guard lock(mutex);
    ++done;
    if (progress) progress(c, done, suite.cases.size());
  });
  suite.seconds = since(begin);
  return suite;
}

}  // namespace kw::judge
