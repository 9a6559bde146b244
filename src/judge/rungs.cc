#include "judge/rungs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/demangle.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "judge/element.h"
#include "judge/page.h"
#include "judge/shapes.h"
#include "judge/values.h"

namespace kw::judge {
namespace {

// Case inputs of different workloads must not be prefixes of each other's.
uint64_t input_seed(const Climb& climb, const Case& c) { return Rng(climb.seed).fork("inputs " + c.name.name).next(); }

WorkloadName name_of_workload(const problem::Workload& workload, bool chosen_by_judge) {
  return {workload.name, workload.axes, chosen_by_judge};
}

std::string amount(uint64_t count) {
  if (count >= 10'000'000) return fmt::format("{:.1f} M", static_cast<double>(count) * 1e-6);
  if (count >= 10'000) return fmt::format("{:.1f} k", static_cast<double>(count) * 1e-3);
  return fmt::format("{}", count);
}

uint64_t instructions(const device::RunReport& report) {
  uint64_t total = 0;
  for (const auto& step : report.steps) total += step.warp_instructions;
  return total;
}

device::RunOptions every_check(const Climb& climb) {
  device::RunOptions run;
  run.check_races = true;
  run.check_uninitialised = true;
  run.threads = climb.options.threads;
  run.deadline_s = climb.options.kernel_deadline_s;
  return run;
}

// A finding means the emulator gave up rather than caught the candidate.
bool has_kind(const device::StepReport& step, emu::Finding::Kind kind) {
  return std::any_of(step.findings.begin(), step.findings.end(), [kind](const emu::Finding& f) { return f.kind == kind; });
}

// The emulator reports threads that meet at barrier 0 from different places, which __syncthreads() forbids and PTX does
// not. PTX as it comes here does not tell one from the other; the candidate's source does, where .loc points at it.
bool is_written_by_hand(const Climb& climb, const emu::Party& party) {
  const std::string file = place_of(climb, party.source_file, 0).file;
  if (!is_candidates(file) || party.source_column == 0) return false;
  const std::string text = source_text_of(climb.candidate_path)(file);
  const std::string_view line = line_of(text, static_cast<int>(party.source_line));
  // The column is somewhere in the statement, usually behind its first word.
  const size_t end = std::min<size_t>(party.source_column - 1, line.size());
  const size_t before = line.find_last_of(";{}", end == 0 ? 0 : end - 1);
  size_t begin = before == std::string_view::npos || before >= end ? 0 : before + 1;
  while (begin < line.size() && (line[begin] == ' ' || line[begin] == '\t')) ++begin;
  const std::string_view statement = line.substr(begin);
  return statement.starts_with("asm") || statement.starts_with("__asm");
}

void drop_barriers_written_by_hand(const Climb& climb, device::RunReport& report) {
  for (device::StepReport& step : report.steps) {
    std::erase_if(step.findings, [&](const emu::Finding& f) {
      return f.kind == emu::Finding::Kind::kBarrierDivergence && !f.fatal && f.other &&
             (is_written_by_hand(climb, f.party) || is_written_by_hand(climb, *f.other));
    });
  }
}

std::optional<Outcome> judge_findings(const Climb& climb, const Case& c, device::RunReport report, bool numbers_right) {
  drop_barriers_written_by_hand(climb, report);
  const device::StepReport* step = report.first_with_finding();
  if (step == nullptr) {
    if (report.completed) return std::nullopt;
    return Timeout{c.name, "the emulated launches", climb.options.kernel_deadline_s};
  }
  if (has_kind(*step, emu::Finding::Kind::kUnsupported)) {
    return NotChecked{step->findings.front().message};
  }
  if (has_kind(*step, emu::Finding::Kind::kLimit)) {
    const std::string kernel = readable_name(step->findings.front().party.kernel);
    return Timeout{c.name, kernel.empty() ? "a kernel" : "kernel " + kernel, climb.options.kernel_deadline_s};
  }
  Unsafe unsafe;
  unsafe.workload = c.name;
  unsafe.step = step->step;
  unsafe.findings = step->findings;
  unsafe.numbers_right = numbers_right;
  const auto name_places = [&climb](emu::Party& party) {
    party.source_file = place_of(climb, party.source_file, 0).file;
    for (SourcePlace& call : party.inlined_from) call.file = place_of(climb, call.file, 0).file;
  };
  for (emu::Finding& finding : unsafe.findings) {
    name_places(finding.party);
    if (finding.other) name_places(*finding.other);
    unsafe.elements.push_back(element_of(c.plan, finding));
  }
  return unsafe;
}

// An emulator that lacks an instruction makes no claim about the candidate; other errors are the judge's.
Result<RungResult> not_run(const Error& error) {
  if (error.code == ErrorCode::kUnsupported) return RungResult{NotChecked{error.message}, ""};
  return fail(error);
}

// Runs one case with every check and compares its outputs.
Result<RungResult> run_case(Climb& climb, Case& c, uint64_t& executed) {
  KW_TRY_VOID(prepare(climb.problem, c, input_seed(climb, c), climb.options.threads));
  auto execution = execute(*climb.device, climb.problem, c, every_check(climb), 0);
  if (!execution) return not_run(execution.error());
  executed += instructions(execution->report);
  std::optional<Wrong> wrong;
  if (execution->report.completed) {
    KW_TRY(wrong, compare(climb.problem, c, *execution, climb.metrics));
  }
  const bool numbers_right = execution->report.completed && !wrong;
  if (auto failed = judge_findings(climb, c, execution->report, numbers_right)) return RungResult{std::move(failed), ""};
  if (wrong) return RungResult{*wrong, ""};
  return RungResult{};
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

// The first element whose bits differ, per output.
std::optional<Nondeterministic> first_difference(const Climb& climb, const Case& c, const Execution& a, const Execution& b) {
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const auto x = a.outputs[i].bytes(), y = b.outputs[i].bytes();
    if (x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size()) == 0) continue;
    Nondeterministic out;
    out.workload = c.name;
    out.output = climb.problem.outputs[i].name;
    out.elements = a.outputs[i].size();
    for (int64_t flat = 0; flat < out.elements; ++flat) {
      if (a.outputs[i].bits_at(flat) == b.outputs[i].bits_at(flat)) continue;
      if (out.differing++ > 0) continue;
      out.index = unflatten(a.outputs[i].shape(), flat);
      out.first = a.outputs[i].at(flat);
      out.second = b.outputs[i].at(flat);
    }
    return out;
  }
  return std::nullopt;
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
  // Cases are handed out in order and none is started after a failure, so the first that failed is always the same.
  using Recorded = Result<std::variant<plan::Plan, toolchain::Unrecordable>>;
  std::vector<std::optional<Recorded>> recordings(climb.cases.size());
  std::atomic<bool> failed = false;
  parallel_for(climb.cases.size(), climb.options.threads > 0 ? climb.options.threads : available_cores(), [&](uint64_t i) {
    if (failed) return;
    recordings[i] = toolchain::record(climb.compiled, arguments_of(climb.problem, climb.cases[i].workload), options);
    if (!*recordings[i] || !std::holds_alternative<plan::Plan>(**recordings[i])) failed = true;
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
  uint64_t executed = 0;
  for (size_t i = 0; i < climb.smallest; ++i) {
    KW_TRY(auto result, run_case(climb, climb.cases[i], executed));
    if (result.failed) return result;
  }
  return RungResult{std::nullopt, fmt::format("{}; {} warp instructions, no findings",
                                              climb.smallest == 0 ? "none" : climb.cases[0].name.text(), amount(executed))};
}

Result<RungResult> shapes_rung(Climb& climb) {
  uint64_t executed = 0;
  size_t own = 0;
  for (size_t i = climb.smallest; i < climb.cases.size(); ++i) {
    KW_TRY(auto result, run_case(climb, climb.cases[i], executed));
    if (result.failed) return result;
    own += climb.cases[i].name.chosen_by_judge;
  }
  return RungResult{std::nullopt, fmt::format("{} shapes, {} of them the judge's own; {} warp instructions",
                                              climb.cases.size() - climb.smallest, own, amount(executed))};
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
  uint64_t executed = 0;
  int left_out = 0;
  for (auto& workload : choose_values(climb.problem, base->workload, seed, climb.options.value_changes)) {
    const WorkloadName name = name_of_workload(workload, true);
    Case c{std::move(workload), name, base->plan, false, {}, {}, {}};   // a plan depends on shapes alone
    KW_TRY_VOID(prepare(climb.problem, c, input_seed(climb, c), climb.options.threads));
    if (!is_representable(climb.problem, c)) {
      ++left_out;
      continue;
    }
    KW_TRY(auto result, run_case(climb, c, executed));
    if (result.failed) return result;
    ++climb.values_run;
  }
  return RungResult{std::nullopt, fmt::format("{} changes of {}{}", climb.values_run, base->name.text(),
                                              left_out == 0 ? "" : fmt::format("; {} left out: the results overflow", left_out))};
}

Result<RungResult> schedules_rung(Climb& climb) {
  std::vector<Schedule> schedules;
  Rng rng = Rng(climb.seed).fork("schedules");
  for (int i = 0; i < climb.options.schedules; ++i) {
    schedules.push_back({i == 0 ? 0 : 1 + rng.below(999'999), i % 2 == 0, i == 0 ? 0 : 1 + rng.below(999'999)});
  }
  const std::vector<Case*> subjects = schedule_subjects(climb);
  for (Case* c : subjects) {
    KW_TRY_VOID(prepare(climb.problem, *c, input_seed(climb, *c), climb.options.threads));
    device::RunOptions run = every_check(climb);
    auto first = execute(*climb.device, climb.problem, *c, run, 0);
    if (!first) return not_run(first.error());
    if (auto failed = judge_findings(climb, *c, first->report, false)) return RungResult{std::move(failed), ""};
    for (const Schedule& schedule : schedules) {
      run.schedule_seed = schedule.seed;
      run.late_completion = schedule.late;
      auto other = execute(*climb.device, climb.problem, *c, run, schedule.layout);
      if (!other) return not_run(other.error());
      if (auto failed = judge_findings(climb, *c, other->report, false)) return RungResult{std::move(failed), ""};
      ++climb.schedules_run;
      if (auto differs = first_difference(climb, *c, *first, *other)) {
        differs->first_schedule = Schedule{}.text();
        differs->second_schedule = schedule.text();
        return RungResult{*differs, ""};
      }
    }
  }
  return RungResult{std::nullopt, fmt::format("{} orders on {} workloads, the same bits", schedules.size() + 1, subjects.size())};
}

}  // namespace kw::judge
