#include "judge/rungs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
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

std::string amount(uint64_t count) {
  if (count >= 10'000'000) return fmt::format("{:.1f} M", static_cast<double>(count) * 1e-6);
  if (count >= 10'000) return fmt::format("{:.1f} k", static_cast<double>(count) * 1e-3);
  return fmt::format("{}", count);
}

void take(Climb& climb, const Tally& tally) {
  climb.metrics.insert(climb.metrics.end(), tally.metrics.begin(), tally.metrics.end());
  if (!climb.wrong_piece) climb.wrong_piece = tally.wrong_piece;
}

constexpr double kValueOperations = 1e6;

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

void ask_for_pieces(Climb& climb) {
  if (climb.cases.empty()) return;
  const plan::Plan& plan = climb.cases.front().plan;   // every plan has the entry's parameters
  climb.problem = problem::asking_for(std::move(climb.problem), [&](const auto& piece) { return plan.find_buffer(piece.name) != nullptr; });
}

Result<RungResult> compile_rung(Climb& climb) {
  toolchain::Candidate candidate;
  candidate.path = climb.candidate_path;
  candidate.target = climb.options.target;
  toolchain::CompileOptions options;
  options.wall_seconds = climb.options.compile_deadline_s;
  options.cache_folder = climb.options.cache_dir;
  KW_TRY(auto compiled, toolchain::compile(climb.compiler, candidate, options));
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
                                      : fmt::format("{} for {}", toolchain::describe(climb.compiler), climb.options.target)};
}

Result<RungResult> record_rung(Climb& climb) {
  for (const auto role : {problem::Role::kSmallest, problem::Role::kShape, problem::Role::kEmulator}) {
    for (const auto& workload : climb.problem.workloads) {
      if (workload.role == role) climb.cases.push_back(case_of(workload, false));
    }
    if (role == problem::Role::kSmallest) climb.smallest = climb.cases.size();
  }
  const uint64_t shape_seed = Rng(climb.seed).fork("shapes").next();
  for (auto& workload : choose_shapes(climb.problem, shape_seed, climb.options.judge_shapes)) {
    climb.cases.push_back(case_of(std::move(workload), true));
  }
  for (auto& workload : shortened_workloads(climb.problem, shape_seed, kMostShortened)) {
    climb.shortened.push_back(case_of(std::move(workload), true));
  }
  if (climb.options.gpu || climb.options.gpu_elsewhere) climb.real = real_cases(climb.problem);
  std::vector<Case*> all = pointers_to(climb.cases);
  for (Case& c : climb.shortened) all.push_back(&c);
  for (Case& c : climb.real) all.push_back(&c);
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const double limit_s = climb.options.record_deadline_s;
  std::vector<std::optional<Result<std::optional<Outcome>>>> recorded(all.size());
  until_failure(all.size(), climb.options.threads > 0 ? climb.options.threads : available_cores(), [&](uint64_t i) {
    // Kernels that are compiled meanwhile have a deadline of their own.
    if (std::chrono::duration<double>(Clock::now() - begin).count() - toolchain::seconds_of_kernels(climb.compiled) < limit_s) {
      recorded[i] = record_case(climb, *all[i]);
    } else {
      recorded[i] = Timeout{all[i]->name, fmt::format("recording {} workloads", all.size()), limit_s};
    }
    return recorded[i]->has_value() && !recorded[i]->value();
  });
  size_t steps = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    KW_TRY(auto failed, std::move(*recorded[i]));
    if (failed) return RungResult{std::move(failed), ""};
    steps += all[i]->plan.steps.size();
  }
  ask_for_pieces(climb);
  return RungResult{std::nullopt, fmt::format("{} workloads, {} steps", all.size(), steps)};
}

Result<RungResult> smallest_rung(Climb& climb) {
  Tally tally;
  const auto run = [&climb](Case& c, int threads, Tally& t) { return run_case(climb, c, threads, t); };
  KW_TRY(auto result, run_cases(climb, pointers_to(std::span(climb.cases).first(climb.smallest)), tally, run));
  take(climb, tally);
  if (result.failed) return result;
  const std::string name = climb.smallest == 0 ? "none" : climb.cases[0].name.text();
  if (climb.in_python) return RungResult{std::nullopt, name};
  return RungResult{std::nullopt, fmt::format("{}; {} warp instructions, no findings", name, amount(tally.executed))};
}

Result<RungResult> shapes_rung(Climb& climb) {
  Tally tally;
  std::vector<Case*> cases = pointers_to(std::span(climb.cases).subspan(climb.smallest));
  for (Case& c : climb.shortened) cases.push_back(&c);
  const auto run = [&climb](Case& c, int threads, Tally& t) { return run_case(climb, c, threads, t); };
  KW_TRY(auto result, run_cases(climb, cases, tally, run));
  take(climb, tally);
  if (result.failed) return result;
  const auto own = std::count_if(cases.begin(), cases.end(), [](const Case* c) { return c->name.chosen_by_judge; });
  const std::string executed = climb.in_python ? "" : fmt::format("; {} warp instructions", amount(tally.executed));
  return RungResult{std::nullopt, fmt::format("{} shapes, {} of them the judge's own{}", cases.size(), own, executed)};
}

Result<RungResult> values_rung(Climb& climb) {
  const Case* base = nullptr;   // the one with the most work that is still cheap and leaves values to choose
  std::vector<problem::Workload> choices;
  const uint64_t seed = Rng(climb.seed).fork("values").next();
  double most = 0;
  for (const Case& c : climb.cases) {
    const auto cost = problem::cost_of(climb.problem, c.workload);
    if (!cost || cost->operations > kValueOperations || cost->operations <= most) continue;
    auto others = choose_values(climb.problem, c.workload, seed, climb.options.value_changes);
    if (others.empty()) continue;
    most = cost->operations;
    base = &c;
    choices = std::move(others);
  }
  if (base == nullptr) return RungResult{std::nullopt, "no workload is cheap enough, or none leaves values to choose"};
  std::vector<Case> changed;
  for (problem::Workload& workload : choices) {
    changed.push_back(case_of(std::move(workload), true));
    changed.back().plan = base->plan;   // a plan depends on shapes alone
  }
  Tally tally;
  KW_TRY(auto result, run_cases(climb, pointers_to(changed), tally, [&climb](Case& c, int threads, Tally& t) -> Result<RungResult> {
           KW_TRY_VOID(prepare(climb.problem, c, input_seed(climb, c), threads));
           if (!is_representable(climb.problem, c)) return RungResult{};
           return run_case(climb, c, threads, t);
         }));
  take(climb, tally);
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
           if (!first) return not_run(climb, c, first.error());
           if (auto failed = judge_findings(climb, c, first->report, false)) return RungResult{std::move(failed), ""};
           for (const Schedule& schedule : schedules) {
             run.schedule_seed = schedule.seed;
             run.late_completion = schedule.late;
             auto other = execute(*climb.device, climb.problem, c, run, schedule.layout);
             if (!other) return not_run(climb, c, other.error());
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

Result<RungResult> pieces_rung(Climb& climb) {
  if (climb.wrong_piece) return RungResult{climb.wrong_piece->wrong, "", climb.wrong_piece->workload};
  std::string names;
  for (const auto& output : climb.problem.outputs) {
    if (output.piece) names += fmt::format("{}{}", names.empty() ? "" : ", ", output.name);
  }
  return RungResult{std::nullopt, names.empty() ? "the candidate writes none" : names};
}

}  // namespace kw::judge
