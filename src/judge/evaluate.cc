#include "judge/evaluate.h"

#include <chrono>
#include <filesystem>
#include <random>

#include "arch/target.h"
#include "base/check.h"
#include "judge/evidence.h"
#include "judge/minimise.h"
#include "judge/rungs.h"
#include "judge/torch_device.h"

namespace kw::judge {
namespace {

struct Step {
  Rung rung;
  Result<RungResult> (*climb)(Climb&);
};
// The ladder. The order is the point: each rung runs only on what the ones before it let through.
constexpr Step kLadder[kRungs] = {
    {Rung::kCompile, compile_rung},   {Rung::kRecord, record_rung}, {Rung::kContract, contract_rung},
    {Rung::kSmallest, smallest_rung}, {Rung::kShapes, shapes_rung}, {Rung::kValues, values_rung},
    {Rung::kSchedules, schedules_rung}, {Rung::kPieces, pieces_rung},
    {Rung::kFull, full_rung},         {Rung::kTime, time_rung},
};

uint64_t secret_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// The worst metrics of each output over all workloads.
Correct summarise(const Climb& climb) {
  Correct correct;
  correct.workloads = static_cast<int>(climb.cases.size() + climb.shortened.size());
  correct.values = climb.values_run;
  correct.schedules = climb.schedules_run;
  correct.on_gpu = climb.gpu_run;
  correct.times = climb.times;
  for (const auto& output : climb.problem.outputs) {   // and pieces
    const Correct::Output* worst = nullptr;
    for (const auto& m : climb.metrics) {
      if (m.output != output.name) continue;
      if (worst == nullptr || m.metrics.budget_used > worst->metrics.budget_used) worst = &m;
    }
    if (worst != nullptr) (output.piece ? correct.pieces : correct.outputs).push_back(*worst);
  }
  return correct;
}

// Where an emulator's lacking an instruction does not end the climb, because rungs that need none follow.
bool goes_on_unchecked(const Climb& climb, Rung rung) {
  return !is_on_gpu(rung) && (climb.options.gpu || climb.options.gpu_elsewhere);
}

// What asks about device code, launches and their order, of which an unsealed candidate shows none.
bool is_of_launches(Rung rung) { return rung == Rung::kCompile || rung == Rung::kContract || rung == Rung::kSchedules; }

// What executes the candidate: the emulator, and the GPU of the options; an unsealed candidate has a process of its own for both.
Status choose_devices(Climb& climb) {
  KW_TRY(const toolchain::Language language, toolchain::language_of(climb.candidate_path));
  climb.in_python = language == toolchain::Language::kTorch;
  if (!climb.in_python) {
    KW_TRY(climb.compiler, toolchain::find_compiler(climb.candidate_path));
    climb.device = device::make_emulator();
    return {};
  }
  if (!climb.options.unsealed)
    return fail(Error{ErrorCode::kInvalid, climb.candidate_path + " is Python, which would run outside of the jail and with your rights", {}, {},
                      {"add --unsealed if you trust it; the verdict then says that it is unsealed",
                       "what imports kernelwright and marks its entry is judged in the jail (docs/formats/candidate.md)"}});
  const bool on_gpu = climb.options.gpu && climb.options.gpu->capabilities().times;
  KW_TRY(climb.device, make_module_device(climb.problem, climb.candidate_path, on_gpu));
  if (climb.options.gpu) climb.options.gpu = climb.device;
  return {};
}

// Climbs one half of the ladder, up to and with `last`; the verdict is then what has decided, or what is known so far.
Status climb_rungs(Ascent& ascent, bool on_gpu, Rung last, const Progress& progress) {
  auto& [climb, verdict, not_checked] = ascent;
  for (int i = 0; i < kRungs; ++i) {
    if (is_on_gpu(kLadder[i].rung) != on_gpu || (not_checked && !on_gpu)) continue;
    if (climb.in_python && is_of_launches(kLadder[i].rung)) continue;
    if (kLadder[i].rung > last) break;
    RungReport& report = verdict.ladder[i];
    if (progress) progress(report, false);
    const auto begin = std::chrono::steady_clock::now();
    KW_TRY(auto result, kLadder[i].climb(climb));
    minimise(climb, report.rung, result);
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    report.detail = result.detail;
    report.status = result.failed ? RungReport::Status::kFailed : RungReport::Status::kPassed;
    if (result.failed) report.detail = std::string(name_of(*result.failed));
    if (const auto* lacking = result.failed && goes_on_unchecked(climb, report.rung) ? std::get_if<NotChecked>(&*result.failed) : nullptr) {
      report.status = RungReport::Status::kNotChecked;
      report.detail = lacking->message;
      not_checked = *lacking;
      result.failed.reset();
    }
    if (progress) progress(report, true);
    if (result.failed) {
      verdict.outcome = std::move(*result.failed);
      verdict.decided_by = report.rung;
      return {};
    }
  }
  if (not_checked) {
    not_checked->right_on_gpu = climb.gpu_run;
    verdict.outcome = *not_checked;
  } else {
    verdict.outcome = summarise(climb);
  }
  return {};
}

}  // namespace

Result<Ascent> climb_to_gpu(const problem::Problem& problem, const std::string& candidate_path, const Options& options,
                            const Progress& progress) {
  KW_TRY_VOID(arch::find_target(options.target));
  std::error_code ignored;
  if (!std::filesystem::exists(candidate_path, ignored)) {
    Error error{ErrorCode::kNotFound, "no candidate at '" + candidate_path + "'", {}, {}, {}};
    error.notes = {"give a .cu file, a folder of them, or a .py file"};
    return fail(error);
  }
  Ascent ascent;
  Climb& climb = ascent.climb;
  climb.problem = problem;
  climb.candidate_path = candidate_path;
  climb.options = options;
  climb.seed = options.seed ? *options.seed : secret_seed();
  KW_TRY_VOID(choose_devices(climb));

  Verdict& verdict = ascent.verdict;
  verdict.problem = problem.name;
  verdict.candidate = candidate_path;
  verdict.target = options.target;
  verdict.seed = climb.seed;
  verdict.problem_file = problem.file;
  verdict.options = options;
  verdict.sealed = !climb.in_python;
  KW_TRY(verdict.evidence, evidence_of(problem, candidate_path));
  for (int i = 0; i < kRungs; ++i) verdict.ladder[i].rung = kLadder[i].rung;
  KW_TRY_VOID(climb_rungs(ascent, false, Rung::kPieces, progress));
  verdict.candidate_hash = climb.compiled.key;
  return ascent;
}

Result<Verdict> climb_on_gpu(Ascent ascent, const Progress& progress) {
  if (ascent.verdict.decided_by || !ascent.climb.options.gpu) return std::move(ascent.verdict);
  ascent.verdict.gpu = ascent.climb.options.gpu->capabilities().name;
  KW_TRY_VOID(climb_rungs(ascent, true, ascent.climb.options.time ? Rung::kTime : Rung::kFull, progress));
  return std::move(ascent.verdict);
}

// The candidates that this one is timed against, climbed as far as it is: only right answers have a time.
Status climb_with_rivals(Ascent& ascent, const problem::Problem& problem) {
  for (const std::string& path : ascent.climb.options.against) {
    if (is_torch_manner(path)) continue;
    KW_TRY(const toolchain::Language language, toolchain::language_of(path));
    if (ascent.climb.in_python || language == toolchain::Language::kTorch)
      return fail(ErrorCode::kInvalid, "--against {}: unsealed candidates are not timed against others; their rivals are eager, compile, cublaslt and cudnn", path);
    Options options = ascent.climb.options;
    options.seed = ascent.climb.seed;
    options.against.clear();
    KW_TRY(Ascent rival, climb_to_gpu(problem, path, options, {}));
    if (!rival.verdict.decided_by) KW_TRY_VOID(climb_rungs(rival, true, Rung::kFull, {}));
    if (!rival.verdict.correct()) {
      return fail(ErrorCode::kInvalid, "{} cannot be a rival: its own verdict is {}; `kw judge` it alone to see why", path, name_of(rival.verdict.outcome));
    }
    ascent.climb.rivals.push_back(std::make_shared<Climb>(std::move(rival.climb)));
  }
  return {};
}

Result<Verdict> evaluate(const problem::Problem& problem, const std::string& candidate_path, const Options& options,
                         const Progress& progress) {
  std::vector<std::shared_ptr<Climb>> torch;   // first: where there is none, that is told before all else
  for (const std::string& manner : options.against) {
    if (!options.gpu || !is_torch_manner(manner)) continue;
    KW_TRY(torch.emplace_back(), torch_rival(problem, options, manner));
  }
  KW_TRY(Ascent ascent, climb_to_gpu(problem, candidate_path, options, progress));
  for (const auto& rival : torch) rival->seed = ascent.climb.seed;
  ascent.climb.rivals = std::move(torch);
  if (!ascent.verdict.decided_by && options.gpu) KW_TRY_VOID(climb_with_rivals(ascent, problem));
  return climb_on_gpu(std::move(ascent), progress);
}

}  // namespace kw::judge
