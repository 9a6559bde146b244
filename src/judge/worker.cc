#include "judge/worker.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/file.h"
#include "base/objects.h"
#include "judge/evidence.h"
#include "judge/results.h"
#include "judge/rungs.h"
#include "judge/run_cases.h"
#include "problem/python_place.h"

namespace kw::judge {
namespace {

// The workload of a recorded plan: the problem's, or one that the judge chose where the bundle was made.
Result<problem::Workload> workload_of(const problem::Problem& problem, const WorkloadName& name) {
  if (name.chosen_by_judge) return problem::make_workload(problem, name.name, problem::Role::kShape, name.axes);
  const problem::Workload* workload = problem.find_workload(name.name);
  if (workload == nullptr || workload->axes != name.axes) return fail(ErrorCode::kInvalid, "the problem has no workload {}", name.text());
  return *workload;
}

// The climb as it was when it left the machine with the compiler.
Result<Ascent> take_up(const Bundle& bundle, const BundleCase& packed, Verdict verdict, const std::string& candidate, const WorkerOptions& options) {
  Ascent ascent;
  Climb& climb = ascent.climb;
  KW_TRY(const std::string text, bundle.object(verdict.evidence.problem));
  KW_TRY(climb.problem, problem::parse_problem(text, verdict.problem_file));
  climb.candidate_path = candidate;
  climb.options = verdict.options;
  climb.options.gpu = options.gpu;
  climb.options.time = options.time;
  climb.options.energy = options.energy;
  climb.options.process_spread = options.process_spread;
  climb.options.threads = options.threads > 0 || options.time ? options.threads : 1;
  climb.seed = verdict.seed;
  climb.compiled.key = verdict.candidate_hash;
  climb.compiled.target = verdict.target;
  climb.compiled.name = packed.source_name;
  climb.compiled.source_folder = packed.source_folder;
  std::set<std::string> verified;
  for (const BundleCase::Recorded& recorded : packed.plans) {
    KW_TRY(problem::Workload workload, workload_of(climb.problem, recorded.workload));
    Case c = case_of(std::move(workload), recorded.workload.chosen_by_judge);
    KW_TRY(const std::string plan, bundle.object(recorded.plan));
    KW_TRY(c.plan, plan::parse(plan, "plan " + recorded.plan, [&](const std::string& hash) { return bundle.object(hash); }));
    if (breach_of_contract(climb, c, verified)) return fail(ErrorCode::kInvalid, "plan {} is not for workload {} of {}", recorded.plan, c.name.text(), climb.problem.name);
    (c.workload.role == problem::Role::kReal ? climb.real : climb.cases).push_back(std::move(c));
  }
  // What is not run cannot be right.
  const auto has = [](const std::vector<Case>& cases, const problem::Workload& workload) {
    return std::any_of(cases.begin(), cases.end(), [&](const Case& c) { return !c.name.chosen_by_judge && c.name.name == workload.name; });
  };
  for (const problem::Workload& workload : climb.problem.workloads)
    if (workload.role != problem::Role::kReal && !has(climb.cases, workload)) return fail(ErrorCode::kInvalid, "the bundle has no plan for workload {} of {}", workload.name, climb.problem.name);
  for (const Case& real : real_cases(climb.problem))
    if (!has(climb.real, real.workload)) return fail(ErrorCode::kInvalid, "the bundle has no plan for workload {} of {}", real.name.name, climb.problem.name);
  ask_for_pieces(climb);
  if (const auto* correct = std::get_if<Correct>(&verdict.outcome)) {
    climb.metrics = correct->outputs;
    climb.metrics.insert(climb.metrics.end(), correct->pieces.begin(), correct->pieces.end());
    climb.values_run = correct->values;
    climb.schedules_run = correct->schedules;
  } else {
    ascent.not_checked = std::get<NotChecked>(verdict.outcome);
  }
  ascent.verdict = std::move(verdict);
  return ascent;
}

// Why this machine cannot have the problem's reference; empty: it can.
std::string lacking(const problem::Problem& problem) {
  if (problem.graph.python.functions.empty()) return "";
  const auto python = problem::find_python();
  if (!python) return "the reference needs Python: " + python.error().message;
  const auto package = problem::find_python_package();
  return package ? "" : "the reference needs Python: " + package.error().message;
}

Verdict not_checked(Verdict verdict, const std::string& why, const device::Device& gpu) {
  for (RungReport& report : verdict.ladder) {
    if (!is_on_gpu(report.rung)) continue;
    report.status = RungReport::Status::kNotChecked;
    report.detail = why;
  }
  if (verdict.correct()) verdict.outcome = NotChecked{why, 0};
  verdict.gpu = gpu.capabilities().name;
  return verdict;
}

class Worker {
 public:
  Worker(const Bundle& bundle, const std::string& folder, const WorkerOptions& options) : bundle_(bundle), folder_(folder), options_(options) {}

  // The answer, stored; from earlier when there is one already.
  Status answer(size_t index, SuiteCase& out) {
    // One that cannot be read is none, and one without a verdict is worth another try.
    if (auto before = read_answer(folder_, index); before && *before && !(*before)->verdict.empty()) {
      out = std::move((*before)->c);
      return {};
    }
    Answer answer;
    answer.c = out;
    const auto begin = std::chrono::steady_clock::now();
    if (Status status = judge(bundle_.cases[index], answer); !status) {
      answer.c.got = "error";
      answer.c.why = {format_error(status.error())};
    }
    answer.c.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    KW_TRY_VOID(write_answer(folder_, index, answer));
    answer.c.seconds = out.seconds;   // its caller counts too
    out = std::move(answer.c);
    return {};
  }

 private:
  Status judge(const BundleCase& packed, Answer& out) {
    if (packed.verdict.empty()) return {};
    KW_TRY(out.verdict, bundle_.object(packed.verdict));
    KW_TRY(const StoredVerdict stored, read_verdict(out.verdict, "verdict " + packed.verdict));
    const FindObject find = [&](const std::string& hash) -> Result<std::string> {
      KW_TRY(std::string text, bundle_.object(hash));
      KW_TRY_VOID(put_object(folder_, text));
      return text;
    };
    KW_TRY(const TempDir place, TempDir::create_in(folder_ + "/cases", "unpacked"));   // what a kill leaves is swept by the next worker
    KW_TRY(const Restored restored, restore(stored, place.path(), find));
    if (!packed.goes_on) return {};
    Result<Verdict> verdict = climb(packed, std::exchange(out.verdict, ""), restored.candidate);
    if (!verdict) return tl::unexpected(std::move(verdict.error()));
    settle(out.c, packed.expected, *verdict, restored.candidate);
    out.verdict = to_json(*verdict);
    return {};
  }

  Result<Verdict> climb(const BundleCase& packed, const std::string& so_far, const std::string& candidate) {
    KW_TRY(Verdict verdict, read_undecided(so_far, "verdict " + packed.verdict));
    WorkerOptions options = options_;
    KW_TRY(options.gpu, own_gpu(options_.gpu));
    KW_TRY(Ascent ascent, take_up(bundle_, packed, std::move(verdict), candidate, options));
    if (const std::string why = lacking(ascent.climb.problem); !why.empty()) return not_checked(std::move(ascent.verdict), why, *options_.gpu);
    return climb_on_gpu(std::move(ascent), {});
  }

  const Bundle& bundle_;
  const std::string& folder_;
  const WorkerOptions& options_;
};

}  // namespace

Result<Suite> work(const Bundle& bundle, const std::string& folder, const WorkerOptions& options, const SuiteProgress& progress) {
  ResultsHead head{bundle.hash, options.gpu->capabilities().name, {}};
  head.suite.folder = bundle.folder;
  for (const BundleCase& packed : bundle.cases) head.suite.cases.push_back(packed.c);
  KW_TRY(const UniqueFd lock, open_results(folder, head));
  Worker worker(bundle, folder, options);
  Suite suite = std::move(head.suite);
  for_each_case(suite, options.jobs == 0 && options.time ? 1 : options.jobs, [&](size_t i, SuiteCase& c) { return worker.answer(i, c); }, progress);
  return suite;
}

}  // namespace kw::judge
