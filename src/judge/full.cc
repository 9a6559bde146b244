// The rung on a GPU: the plans that the emulator ran, and those of the real workloads, which are too large for it.
#include <fmt/format.h>
#include <unistd.h>

#include <mutex>

#include "judge/run_cases.h"

namespace kw::judge {
namespace {

// Beyond these the fp64 reference takes minutes, or more memory than is good for the machine.
constexpr double kMostOperations = 2e12;
double most_bytes() { return 0.5 * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE)); }

// References of real workloads take much memory and all cores, and the GPU is one: candidates of a suite wait for each other.
std::mutex g_real;

// Runs the case twice, the second time with buffers elsewhere. None: right, and the same bits.
Result<RungResult> run_on_gpu(const Climb& climb, Case& c, int threads, Tally& tally) {
  KW_TRY_VOID(prepare(climb.problem, c, input_seed(climb, c), threads, static_cast<int64_t>(most_bytes())));
  const device::RunOptions run = every_check(climb, threads);   // as far as the device can
  auto first = execute(*climb.options.gpu, climb.problem, c, run, 0);
  if (!first) return not_run(first.error());
  Comparison comparison;
  if (first->report.completed) {
    KW_TRY(comparison, compare(climb.problem, c, *first, tally.metrics));
  }
  const bool right = first->report.completed && !comparison.output;
  if (auto failed = judge_findings(climb, c, first->report, right)) return RungResult{std::move(failed), ""};
  if (comparison.output) return RungResult{std::move(*comparison.output), ""};
  auto second = execute(*climb.options.gpu, climb.problem, c, run, 1);
  if (!second) return not_run(second.error());
  if (auto failed = judge_findings(climb, c, second->report, right)) return RungResult{std::move(failed), ""};
  if (auto differs = first_difference(climb, c, *first, *second)) {
    differs->first_schedule = "on the GPU";
    differs->second_schedule = "on the GPU again, buffers moved";
    return RungResult{std::move(*differs), ""};
  }
  ++tally.runs;
  return RungResult{};
}

}  // namespace

Result<RungResult> full_rung(Climb& climb) {
  Tally tally;
  for (Case& c : climb.cases) {
    KW_TRY(auto result, run_on_gpu(climb, c, climb.options.threads, tally));
    if (result.failed) return result;
  }
  const std::lock_guard lock(g_real);
  std::set<std::string> verified;
  std::string left_out;
  int real = 0;
  for (const problem::Workload& workload : climb.problem.workloads) {
    if (workload.role != problem::Role::kReal) continue;
    Case c{workload, {workload.name, workload.axes, false}, {}, false, {}, {}, {}};   // its tensors go when its turn is over
    const auto cost = problem::cost_of(climb.problem, workload);
    if (!cost || cost->operations > kMostOperations || cost->peak_bytes > most_bytes()) {
      left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", workload.name);
      continue;
    }
    KW_TRY(auto failed, record_case(climb, c));
    if (!failed) failed = breach_of_contract(climb, c, verified);
    if (failed) return RungResult{std::move(failed), ""};
    KW_TRY(auto result, run_on_gpu(climb, c, 0, tally));
    if (result.failed) return result;
    ++real;
  }
  climb.gpu_run = tally.runs;
  climb.metrics.insert(climb.metrics.end(), tally.metrics.begin(), tally.metrics.end());
  return RungResult{std::nullopt, fmt::format("{} workloads, {} of them real, on {}{}", tally.runs, real, climb.options.gpu->capabilities().name,
                                              left_out.empty() ? "" : "; too dear for the reference: " + left_out)};
}

}  // namespace kw::judge
