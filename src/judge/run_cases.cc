#include "judge/run_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/demangle.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "judge/element.h"
#include "judge/page.h"
#include "judge/torch_device.h"

namespace kw::judge {
namespace {

uint64_t instructions(const device::RunReport& report) {
  uint64_t total = 0;
  for (const auto& step : report.steps) total += step.warp_instructions;
  return total;
}

Outcome from_recorder(const Climb& climb, const Case& c, const toolchain::Unrecordable& reason) {
  using Kind = toolchain::Unrecordable::Kind;
  const SourcePlace place = place_of(climb, reason.place.file, static_cast<uint32_t>(std::max(0, reason.place.line)),
                                     static_cast<uint32_t>(std::max(0, reason.place.column)));
  switch (reason.kind) {
    case Kind::kContract:
    case Kind::kLaunch: return ContractViolation{c.name, reason.message, place, reason.notes};
    case Kind::kCompile: return CompileError{{{place, reason.message}}, reason.output};
    case Kind::kTimeout: return Timeout{c.name, "the host code", climb.options.host_deadline_s};
    case Kind::kCall:
    case Kind::kCrash:
    case Kind::kLimit:
    case Kind::kNondeterministic: break;
  }
  return Unrecordable{c.name, reason.call, reason.message, place, reason.notes, reason.kind == Kind::kCrash ? reason.output : ""};
}

// A finding means the emulator gave up rather than caught the candidate.
const emu::Finding* first_of(const device::StepReport& step, emu::Finding::Kind kind) {
  const auto it = std::find_if(step.findings.begin(), step.findings.end(), [kind](const emu::Finding& f) { return f.kind == kind; });
  return it == step.findings.end() ? nullptr : &*it;
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

}  // namespace

void Tally::add(const Tally& other) {
  executed += other.executed;
  runs += other.runs;
  metrics.insert(metrics.end(), other.metrics.begin(), other.metrics.end());
  if (!wrong_piece) wrong_piece = other.wrong_piece;
}

uint64_t input_seed(const Climb& climb, const Case& c) { return Rng(climb.seed).fork("inputs " + c.name.name).next(); }

device::RunOptions every_check(const Climb& climb, int threads) {
  device::RunOptions run;
  run.check_races = true;
  run.check_uninitialised = true;
  run.threads = threads;
  run.deadline_s = climb.options.kernel_deadline_s;
  return run;
}

std::optional<Outcome> judge_findings(const Climb& climb, const Case& c, device::RunReport report, bool numbers_right) {
  drop_barriers_written_by_hand(climb, report);
  const device::StepReport* step = report.first_with_finding();
  if (step == nullptr) {
    if (report.completed) return std::nullopt;
    return Timeout{c.name, "the emulated launches", climb.options.kernel_deadline_s};
  }
  if (const emu::Finding* gave_up = first_of(*step, emu::Finding::Kind::kUnsupported)) return NotChecked{gave_up->message};
  if (first_of(*step, emu::Finding::Kind::kLimit) != nullptr) {
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

std::optional<Outcome> judge_findings(const Climb& climb, const Case& c, const device::CallReport& report, bool numbers_right) {
  device::RunReport as_run;
  as_run.completed = report.completed;
  if (!report.findings.empty()) as_run.steps.push_back({0, report.completed, report.findings, {}, 0});
  return judge_findings(climb, c, std::move(as_run), numbers_right);
}

Result<RungResult> not_run(const Climb& climb, const Case& c, const Error& error) {
  if (climb.in_python) {
    Unrecordable raised;
    raised.workload = c.name;
    raised.message = error.message;
    raised.notes = error.notes;
    return RungResult{std::move(raised), ""};
  }
  if (error.code == ErrorCode::kUnsupported) return RungResult{NotChecked{error.message}, ""};
  return fail(error);
}

Result<std::optional<Outcome>> record_case(const Climb& climb, Case& c) {
  if (climb.in_python) {
    KW_TRY(c.plan, torch_plan(climb.problem, c.workload, kStored));
    return std::nullopt;
  }
  toolchain::RecordOptions options;
  options.wall_seconds = climb.options.host_deadline_s;
  KW_TRY(auto recorded, toolchain::record(climb.compiled, toolchain::arguments_of(climb.problem, c.workload), options));
  if (const auto* reason = std::get_if<toolchain::Unrecordable>(&recorded)) return from_recorder(climb, c, *reason);
  c.plan = std::move(std::get<plan::Plan>(recorded));
  return std::nullopt;
}

Result<RungResult> run_case(const Climb& climb, Case& c, int threads, Tally& tally) {
  KW_TRY_VOID(prepare(climb.problem, c, input_seed(climb, c), threads));
  auto execution = execute(*climb.device, climb.problem, c, every_check(climb, threads), 0);
  if (!execution) return not_run(climb, c, execution.error());
  tally.executed += instructions(execution->report);
  ++tally.runs;
  Comparison comparison;
  if (execution->report.completed) {
    KW_TRY(comparison, compare(climb.problem, c, *execution, tally.metrics));
  }
  const bool numbers_right = execution->report.completed && !comparison.output;
  if (auto failed = judge_findings(climb, c, execution->report, numbers_right)) return RungResult{std::move(failed), ""};
  if (comparison.output) return RungResult{std::move(*comparison.output), "", c.workload};
  if (comparison.piece && !tally.wrong_piece) tally.wrong_piece = {std::move(*comparison.piece), c.workload};
  return RungResult{};
}

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

void until_failure(uint64_t count, int threads, const std::function<bool(uint64_t)>& body) {
  std::atomic<uint64_t> lowest = count;   // that failed
  parallel_for(count, threads, [&](uint64_t i) {
    if (i > lowest || body(i)) return;
    for (uint64_t seen = lowest; i < seen && !lowest.compare_exchange_weak(seen, i);) {
    }
  });
}

constexpr double kSmallOperations = 5e5;

Result<RungResult> run_cases(const Climb& climb, std::span<Case* const> cases, Tally& total, const RunCase& run) {
  std::vector<Case*> small, large;
  for (Case* c : cases) {
    const auto cost = problem::cost_of(climb.problem, c->workload);
    (cost && cost->operations <= kSmallOperations ? small : large).push_back(c);
  }
  const int threads = climb.options.threads > 0 ? climb.options.threads : available_cores();
  std::vector<std::optional<Result<RungResult>>> results(small.size());
  std::vector<Tally> tallies(small.size());
  until_failure(small.size(), threads, [&](uint64_t i) {
    results[i] = run(*small[i], 1, tallies[i]);
    return results[i]->has_value() && !(*results[i])->failed;
  });
  for (size_t i = 0; i < small.size(); ++i) {
    total.add(tallies[i]);
    if (!*results[i] || (*results[i])->failed) return std::move(*results[i]);
  }
  for (Case* c : large) {
    KW_TRY(auto result, run(*c, threads, total));
    if (result.failed) return result;
  }
  return RungResult{};
}

std::vector<Case*> pointers_to(std::span<Case> cases) {
  std::vector<Case*> out;
  for (Case& c : cases) out.push_back(&c);
  return out;
}

}  // namespace kw::judge
