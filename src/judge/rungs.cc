#include "judge/rungs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>

#include "base/demangle.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "judge/call_again.h"
#include "judge/run_cases.h"
#include "judge/shapes.h"
#include "judge/values.h"

namespace kw::judge {
namespace {

WorkloadName name_of_workload(const problem::Workload& workload, bool chosen_by_judge) {
  return {workload.name, workload.axes, chosen_by_judge};
}

std::string amount(uint64_t count) {
  if (count >= 10'000'000) return fmt::format("{:.1f} M", static_cast<double>(count) * 1e-6);
  if (count >= 10'000) return fmt::format("{:.1f} k", static_cast<double>(count) * 1e-3);
  return fmt::format("{}", count);
}

Outcome from_recorder(const Climb& climb, const Case& c, const toolchain::Unrecordable& reason) {
  using Kind = toolchain::Unrecordable::Kind;
  const SourcePlace place = place_of(climb, reason.place.file, static_cast<uint32_t>(std::max(0, reason.place.line)),
                                     static_cast<uint32_t>(std::max(0, reason.place.column)));
  switch (reason.kind) {
    case Kind::kContract:
    case Kind::kLaunch: return ContractViolation{c.name, reason.message, place, reason.notes};
    case Kind::kTimeout: return Timeout{c.name, "the host code", climb.options.host_deadline_s};
    case Kind::kCall:
    case Kind::kCrash:
    case Kind::kLimit:
    case Kind::kNondeterministic: break;
  }
  return Unrecordable{c.name, reason.call, reason.message, place, reason.notes};
}

constexpr double kValueOperations = 1e6;

// Whether honest work can give these results: none overflows its dtype, or did on the way. What a kernel should give
// where the exact answer is too large for the output is not for the judge to say.
bool is_representable(const problem::Problem& problem, const Case& c) {
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    if (!std::isfinite(c.tolerance.outputs[i].plain_error) || !std::isfinite(c.tolerance.outputs[i].disturbed_error)) return false;
    const tensor::FloatFormat* format = tensor::float_format(problem.outputs[i].dtype);
    const double largest = format == nullptr ? HUGE_VAL : tensor::decode(format->max_finite, problem.outputs[i].dtype);
    for (const double value : c.reference.outputs[i].f64()) {
      if (!(std::abs(value) <= largest)) return false;
    }
  }
  return true;
}

struct Schedule {
  uint64_t seed = 0;
  bool late = false;
  uint64_t layout = 0;
  std::string text() const {
    return fmt::format("{}, copies complete {}{}", seed == 0 ? "round robin" : fmt::format("order {}", seed),
                       late ? "late" : "early", layout == 0 ? "" : fmt::format(", buffers moved ({})", layout));
  }
};

// The workload with the most work, which has the most warps to reorder, and of the others those that are cheap
// together: two blocks that add to one element give the same bits in either order, so the order of
// additions shows only where more blocks share an element, and which workload that is cannot be told from outside.
constexpr double kScheduleOperations = 1e6;
std::vector<Case*> schedule_subjects(Climb& climb) {
  std::vector<std::pair<double, Case*>> by_work;
  for (Case& c : climb.cases) {
    if (const auto cost = problem::cost_of(climb.problem, c.workload)) by_work.emplace_back(cost->operations, &c);
  }
  std::stable_sort(by_work.begin(), by_work.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Case*> subjects;
  double total = 0;
  for (const auto& [operations, c] : by_work) {
    if (!subjects.empty()) {
      if (total + operations > kScheduleOperations) continue;
      total += operations;
    }
    subjects.push_back(c);
  }
  if (subjects.empty() && !climb.cases.empty()) subjects.push_back(&climb.cases.front());
  return subjects;
}

}  // namespace

SourcePlace place_of(const Climb& climb, const std::string& file, uint32_t line, uint32_t column) {
  namespace fs = std::filesystem;
  if (!file.starts_with('/')) return {file, line, column};
  // By components: "/a/bc" is not in "/a/b", and compilers write "/cuda/bin/../include/x.h".
  const fs::path path = fs::path(file).lexically_normal();
  const fs::path relative = path.lexically_relative(fs::path(climb.compiled.source_folder).lexically_normal());
  std::error_code ignored;
  const bool inside = !climb.compiled.source_folder.empty() && !relative.empty() && *relative.begin() != ".." && *relative.begin() != ".";
  // A candidate of one file has no neighbours: the compiler saw none.
  const bool own = inside && (fs::is_directory(climb.candidate_path, ignored) || relative == climb.compiled.name);
  return {own ? relative.string() : path.string(), line, column};
}

Result<RungResult> compile_rung(Climb& climb) {
  toolchain::Candidate candidate;
  candidate.path = climb.candidate_path;
  candidate.target = climb.options.target;
  toolchain::CompileOptions options;
  options.wall_seconds = climb.options.compile_deadline_s;
  options.cache_folder = climb.options.cache_dir;
  KW_TRY(auto compiled, toolchain::compile(climb.nvcc, candidate, options));
  if (const auto* errors = std::get_if<toolchain::CompileErrors>(&compiled)) {
    CompileError out;
    for (const auto& d : errors->diagnostics) {
      if (d.severity != toolchain::Diagnostic::Severity::kError) continue;
      out.diagnostics.push_back({{d.place.file, static_cast<uint32_t>(std::max(0, d.place.line)),
                                  static_cast<uint32_t>(std::max(0, d.place.column))},
                                 d.message});
    }
    out.log = errors->log;
    return RungResult{out, ""};
  }
  climb.compiled = std::move(std::get<toolchain::Compiled>(compiled));
  return RungResult{std::nullopt, climb.compiled.from_cache
                                      ? "compiled before"
                                      : fmt::format("nvcc {} for {}", climb.nvcc.version, climb.options.target)};
}

Result<RungResult> record_rung(Climb& climb) {
  for (const auto role : {problem::Role::kSmallest, problem::Role::kShape, problem::Role::kEmulator}) {
    for (const auto& workload : climb.problem.workloads) {
      if (workload.role == role) climb.cases.push_back({workload, name_of_workload(workload, false), {}, false, {}, {}, {}});
    }
    if (role == problem::Role::kSmallest) climb.smallest = climb.cases.size();
  }
  const uint64_t shape_seed = Rng(climb.seed).fork("shapes").next();
  for (auto& workload : choose_shapes(climb.problem, shape_seed, climb.options.judge_shapes)) {
    const WorkloadName name = name_of_workload(workload, true);
    climb.cases.push_back({std::move(workload), name, {}, false, {}, {}, {}});
  }
  toolchain::RecordOptions options;
  options.wall_seconds = climb.options.host_deadline_s;
  using Recorded = Result<std::variant<plan::Plan, toolchain::Unrecordable>>;
  std::vector<std::optional<Recorded>> recordings(climb.cases.size());
  until_failure(climb.cases.size(), climb.options.threads > 0 ? climb.options.threads : available_cores(), [&](uint64_t i) {
    recordings[i] = toolchain::record(climb.compiled, arguments_of(climb.problem, climb.cases[i].workload), options);
    return recordings[i]->has_value() && std::holds_alternative<plan::Plan>(**recordings[i]);
  });
  size_t steps = 0;
  for (size_t i = 0; i < climb.cases.size(); ++i) {
    Case& c = climb.cases[i];
    KW_TRY(auto recorded, std::move(*recordings[i]));
    if (const auto* reason = std::get_if<toolchain::Unrecordable>(&recorded)) {
      return RungResult{from_recorder(climb, c, *reason), ""};
    }
    c.plan = std::move(std::get<plan::Plan>(recorded));
    steps += c.plan.steps.size();
  }
  return RungResult{std::nullopt, fmt::format("{} workloads, {} steps", climb.cases.size(), steps)};
}

Result<RungResult> smallest_rung(Climb& climb) {
  Tally tally;
  const auto run = [&climb](Case& c, int threads, Tally& t) { return run_case(climb, c, threads, t); };
  KW_TRY(auto result, run_cases(climb, pointers_to(std::span(climb.cases).first(climb.smallest)), tally, run));
  climb.metrics.insert(climb.metrics.end(), tally.metrics.begin(), tally.metrics.end());
  if (result.failed) return result;
  return RungResult{std::nullopt, fmt::format("{}; {} warp instructions, no findings",
                                              climb.smallest == 0 ? "none" : climb.cases[0].name.text(), amount(tally.executed))};
}

Result<RungResult> shapes_rung(Climb& climb) {
  Tally tally;
  const auto cases = std::span(climb.cases).subspan(climb.smallest);
  const auto run = [&climb](Case& c, int threads, Tally& t) { return run_case(climb, c, threads, t); };
  KW_TRY(auto result, run_cases(climb, pointers_to(cases), tally, run));
  climb.metrics.insert(climb.metrics.end(), tally.metrics.begin(), tally.metrics.end());
  if (result.failed) return result;
  const auto own = std::count_if(cases.begin(), cases.end(), [](const Case& c) { return c.name.chosen_by_judge; });
  return RungResult{std::nullopt, fmt::format("{} shapes, {} of them the judge's own; {} warp instructions", cases.size(), own,
                                              amount(tally.executed))};
}

Result<RungResult> values_rung(Climb& climb) {
  const Case* base = nullptr;   // the one with the most work that is still cheap
  double most = 0;
  for (const Case& c : climb.cases) {
    const auto cost = problem::cost_of(climb.problem, c.workload);
    if (!cost || cost->operations > kValueOperations || cost->operations <= most) continue;
    most = cost->operations;
    base = &c;
  }
  if (base == nullptr) return RungResult{std::nullopt, "no workload is cheap enough"};
  const uint64_t seed = Rng(climb.seed).fork("values").next();
  std::vector<Case> changed;
  for (auto& workload : choose_values(climb.problem, base->workload, seed, climb.options.value_changes)) {
    const WorkloadName name = name_of_workload(workload, true);
    changed.push_back({std::move(workload), name, base->plan, false, {}, {}, {}});   // a plan depends on shapes alone
  }
  Tally tally;
  KW_TRY(auto result, run_cases(climb, pointers_to(changed), tally, [&climb](Case& c, int threads, Tally& t) -> Result<RungResult> {
           KW_TRY_VOID(prepare(climb.problem, c, input_seed(climb, c), threads));
           if (!is_representable(climb.problem, c)) return RungResult{};
           return run_case(climb, c, threads, t);
         }));
  climb.metrics.insert(climb.metrics.end(), tally.metrics.begin(), tally.metrics.end());
  climb.values_run = tally.runs;
  if (result.failed) return result;
  const size_t left_out = changed.size() - static_cast<size_t>(tally.runs);
  return RungResult{std::nullopt, fmt::format("{} changes of {}{}", tally.runs, base->name.text(),
                                              left_out == 0 ? "" : fmt::format("; {} left out: the results overflow", left_out))};
}

Result<RungResult> schedules_rung(Climb& climb) {
  std::vector<Schedule> schedules;
  Rng rng = Rng(climb.seed).fork("schedules");
  for (int i = 0; i < climb.options.schedules; ++i) {
    schedules.push_back({i == 0 ? 0 : 1 + rng.below(999'999), i % 2 == 0, i == 0 ? 0 : 1 + rng.below(999'999)});
  }
  const std::vector<Case*> subjects = schedule_subjects(climb);
  Tally tally;
  KW_TRY(auto result, run_cases(climb, subjects, tally, [&](Case& c, int threads, Tally& t) -> Result<RungResult> {
           KW_TRY_VOID(prepare(climb.problem, c, input_seed(climb, c), threads));
           device::RunOptions run = every_check(climb, threads);
           auto first = execute(*climb.device, climb.problem, c, run, 0);
           if (!first) return not_run(first.error());
           if (auto failed = judge_findings(climb, c, first->report, false)) return RungResult{std::move(failed), ""};
           for (const Schedule& schedule : schedules) {
             run.schedule_seed = schedule.seed;
             run.late_completion = schedule.late;
             auto other = execute(*climb.device, climb.problem, c, run, schedule.layout);
             if (!other) return not_run(other.error());
             if (auto failed = judge_findings(climb, c, other->report, false)) return RungResult{std::move(failed), ""};
             ++t.runs;
             if (auto differs = first_difference(climb, c, *first, *other)) {
               differs->first_schedule = Schedule{}.text();
               differs->second_schedule = schedule.text();
               return RungResult{*differs, ""};
             }
           }
           return call_again(climb, c, every_check(climb, threads));
         }));
  climb.schedules_run = tally.runs;
  if (result.failed) return result;
  return RungResult{std::nullopt, fmt::format("{} orders on {} workloads, the same bits", schedules.size() + 1, subjects.size())};
}

}  // namespace kw::judge
