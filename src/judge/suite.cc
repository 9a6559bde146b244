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
  Options judge = options_of(fixture, out, options);
  KW_TRY(judge.gpu, own_gpu(judge.gpu));
  KW_TRY(const Verdict verdict, evaluate(problem, candidate, judge));
  settle(out, fixture, verdict, candidate);
  return {};
}

}  // namespace

size_t Suite::as_expected() const {
  return static_cast<size_t>(std::count_if(cases.begin(), cases.end(), [](const SuiteCase& c) { return c.as_expected(); }));
}

std::pair<Suite, std::vector<const Fixture*>> cases_of(const std::string& folder, const std::vector<Fixture>& fixtures) {
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
  return {std::move(suite), std::move(fixture_of)};
}

void for_each_case(Suite& suite, int jobs, const std::function<Status(size_t index, SuiteCase& c)>& work, const SuiteProgress& progress) {
  const auto begin = Clock::now();
  std::mutex mutex;
  size_t done = 0;
  parallel_for(suite.cases.size(), jobs > 0 ? jobs : available_cores(), [&](uint64_t i) {
    SuiteCase& c = suite.cases[i];
    const auto started = Clock::now();
    const Status status = work(i, c);
    if (!status) {
      c.got = "error";
      c.why = {format_error(status.error())};
    }
    c.seconds += since(started);
    const std::lock_guard lock(mutex);
    ++done;
    if (progress) progress(c, done, suite.cases.size());
  });
  suite.seconds = since(begin);
}

Result<std::shared_ptr<device::Device>> own_gpu(const std::shared_ptr<device::Device>& shared) {
  if (!shared) return shared;
  KW_TRY(auto own, shared->another());
  return own ? std::move(own) : shared;
}

Options options_of(const Fixture& fixture, const SuiteCase& c, const SuiteOptions& asked) {
  Options judge = asked.judge;
  judge.target = c.target;
  if (judge.seed && !asked.same_seed) judge.seed = Rng(*judge.seed).fork(c.name + " " + c.target).next();
  if (judge.threads == 0 && !judge.time) judge.threads = 1;
  if (fixture.host_deadline_s > 0) judge.host_deadline_s = fixture.host_deadline_s;
  if (fixture.record_deadline_s > 0) judge.record_deadline_s = fixture.record_deadline_s;
  if (fixture.kernel_deadline_s > 0) judge.kernel_deadline_s = fixture.kernel_deadline_s;
  return judge;
}

void settle(SuiteCase& c, const Fixture& expected, const Verdict& verdict, const std::string& candidate) {
  c.seed = verdict.seed;
  c.page = page(verdict, source_text_of(candidate));
  c.got = verdict_text(name_of(verdict.outcome), verdict.decided_by ? name_of(*verdict.decided_by) : "");
  c.why = mismatches(expected, verdict, c.page);
}

Status have_compiler(const std::vector<Fixture>& fixtures) {
  for (const Fixture& fixture : fixtures) {
    KW_TRY(const toolchain::Language language, toolchain::language_of(fixture.candidate));
    if (language == toolchain::Language::kCuda) return toolchain::find_nvcc().map([](const auto&) {});
  }
  return {};
}

Result<Suite> run_suite(const std::string& folder, const SuiteOptions& options, const SuiteProgress& progress) {
  KW_TRY(const std::vector<Fixture> fixtures, find_fixtures(folder));
  KW_TRY_VOID(have_compiler(fixtures));
  KW_TRY(const TempDir scratch, TempDir::create("kw-suite"));
  auto [suite, fixture_of] = cases_of(folder, fixtures);
  for_each_case(suite, options.jobs == 0 && options.judge.time ? 1 : options.jobs, [&, &fixture_of = fixture_of](size_t i, SuiteCase& c) {
    return judge_one(*fixture_of[i], options, fmt::format("{}/{}", scratch.path(), i), c);
  }, progress);
  return std::move(suite);
}

}  // namespace kw::judge
