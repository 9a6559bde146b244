// The rung on a GPU: the plans that the emulator ran, and those of the real workloads, which are too large for it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/rng.h"
#include "judge/page.h"
#include "judge/run_cases.h"
#include "judge/torch_device.h"

namespace kw::judge {
namespace {

// Beyond these the fp64 reference takes minutes, or more memory than is good for the machine.
constexpr double kMostOperations = 2e12;
double most_bytes() { return 0.5 * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE)); }

// A device whose times mean nothing is an emulator, which stands for a GPU where there is none.
constexpr double kMostEmulated = 1e6;

bool is_too_dear(const problem::Problem& problem, const problem::Workload& workload, const device::Capabilities& gpu) {
  const auto cost = problem::cost_of(problem, workload);
  return !cost || cost->operations > (gpu.times ? kMostOperations : kMostEmulated) || cost->peak_bytes > most_bytes();
}

constexpr int kQuickCalls = 4;

// References of real workloads take much memory and all cores, and the GPU is one: candidates of a suite wait for each other.
std::mutex g_real;

// In the order of the plan's buffers, as a call has them.
std::vector<device::Fingerprint> fingerprints_of(const Climb& climb, const Case& c, const std::vector<tensor::Tensor>& outputs) {
  std::vector<device::Fingerprint> out;
  for (const plan::Buffer& buffer : c.plan.buffers) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (climb.problem.outputs[i].name != buffer.name) continue;
      const auto bytes = outputs[i].bytes();
      out.push_back(device::fingerprint_of({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, fingerprint_key(climb)));
    }
  }
  return out;
}

// Runs the case, then calls it with code and buffers elsewhere. None: right, and the same bits, whose fingerprints are `outputs`.
Result<RungResult> run_on_gpu(const Climb& climb, Case& c, int threads, Tally& tally, std::vector<device::Fingerprint>* outputs = nullptr) {
  KW_TRY_VOID(prepare(climb.problem, c, input_seed(climb, c), threads, static_cast<int64_t>(most_bytes())));
  auto loaded = climb.options.gpu->load(c.plan, {});
  if (!loaded) return not_run(climb, c, loaded.error());
  const device::RunOptions run = every_check(climb, threads);   // as far as the device can
  auto first = execute(**loaded, climb.problem, c, run);
  if (!first) return not_run(climb, c, first.error());
  Comparison comparison;
  if (first->report.completed) {
    KW_TRY(comparison, compare(climb.problem, c, *first, tally.metrics));
  }
  const bool right = first->report.completed && !comparison.output;
  if (auto failed = judge_findings(climb, c, first->report, right)) return RungResult{std::move(failed), ""};
  if (comparison.output) return RungResult{std::move(*comparison.output), ""};
  const auto again = (*loaded)->call({.layout_seed = 1, .afresh = true, .key = fingerprint_key(climb), .deadline_s = run.deadline_s});
  if (!again) return not_run(climb, c, again.error());
  if (auto failed = judge_findings(climb, c, *again, right)) return RungResult{std::move(failed), ""};
  if (again->outputs != fingerprints_of(climb, c, first->outputs)) {
    Execution second;
    KW_TRY_VOID(read_outputs(**loaded, climb.problem, c, second));
    auto differs = first_difference(climb, c, *first, second);
    if (!differs) return fail(ErrorCode::kIo, "two results with the same bits have different fingerprints");
    differs->first_schedule = "on the GPU";
    differs->second_schedule = "on the GPU again, buffers moved";
    return RungResult{std::move(*differs), ""};
  }
  ++tally.runs;
  if (outputs != nullptr) *outputs = again->outputs;
  return RungResult{};
}

std::string said(const Outcome& outcome) {
  if (const auto* refused = std::get_if<NotChecked>(&outcome)) return refused->message;
  const auto* wrong = std::get_if<Wrong>(&outcome);
  return wrong == nullptr ? std::string(name_of(outcome)) : element_text(wrong->first);
}

// The fastest of a few calls.
Result<double> quick_time(const Climb& rival, const Case& c) {
  KW_TRY(const auto loaded, rival.options.gpu->load(c.plan, {}));
  KW_TRY_VOID(write_inputs(*loaded, rival.problem, c, c.inputs));
  double fastest = HUGE_VAL;
  for (int i = 0; i < kQuickCalls; ++i) {
    KW_TRY(const device::CallReport report, loaded->call({.deadline_s = rival.options.kernel_deadline_s}));
    fastest = std::min(fastest, report.device_s);
  }
  return fastest;
}

// A rival that is PyTorch or called by it, on a real workload: in the fastest style in which it is right. `c` is prepared: one reference serves all.
void verify_torch(Climb& rival, Case c) {
  std::string& why_not = rival.torch->why_not[c.name.name];
  std::vector<std::string> refusals;
  double fastest = HUGE_VAL;
  for (const std::string_view style : {kStored, kWide}) {
    Tally tally;
    std::vector<device::Fingerprint> outputs;
    const auto result = [&]() -> Result<RungResult> {
      KW_TRY(c.plan, torch_plan(rival.problem, c.workload, style));
      return run_on_gpu(rival, c, 0, tally, &outputs);
    }();
    if (result && !result->failed) {
      const Result<double> took = quick_time(rival, c);
      if (!took || *took >= fastest) continue;
      if (fastest == HUGE_VAL) {
        rival.real.push_back(case_of(c.workload, false));
        rival.verified.emplace_back();
      }
      fastest = *took;
      rival.real.back().plan = c.plan;
      rival.verified.back() = {rival.real.size() - 1, outputs};
      rival.torch->style[c.name.name] = style == kStored ? "in the stored dtypes" : "in f32";
      continue;
    }
    const std::string reason = result ? said(*result->failed) : result.error().message;
    if (!result || std::holds_alternative<NotChecked>(*result->failed)) refusals.push_back(reason);
    why_not += fmt::format("{}{}: {}", why_not.empty() ? "" : "; ", style == kStored ? "computing in the stored dtypes" : "in f32", reason);
  }
  if (refusals.size() == 2 && refusals[0] == refusals[1]) why_not = refusals[0];   // of the problem, whatever it is computed in
}

}  // namespace

Result<std::shared_ptr<Climb>> torch_rival(const problem::Problem& problem, const Options& options, std::string_view manner) {
  auto rival = std::make_shared<Climb>();
  rival->problem = problem;
  rival->options = options;
  rival->torch.emplace();
  KW_TRY(rival->options.gpu, make_torch_device(problem, manner, options.gpu->capabilities().times));
  rival->candidate_path = rival->options.gpu->capabilities().name;
  return rival;
}

uint64_t fingerprint_key(const Climb& climb) { return Rng(climb.seed).fork("fingerprints").next(); }

std::vector<Case> real_cases(const problem::Problem& problem) {
  std::vector<Case> out;
  for (const problem::Workload& workload : problem.workloads) {
    const auto cost = problem::cost_of(problem, workload);
    if (workload.role == problem::Role::kReal && cost && cost->operations <= kMostOperations && cost->peak_bytes <= 0x1p40) out.push_back(case_of(workload, false));
  }
  return out;
}

Result<RungResult> full_rung(Climb& climb) {
  Tally tally;
  for (Case& c : climb.cases) {
    KW_TRY(auto result, run_on_gpu(climb, c, climb.options.threads, tally));
    if (result.failed) return result;
  }
  const std::lock_guard lock(g_real);
  const device::Capabilities gpu = climb.options.gpu->capabilities();
  std::string left_out;
  int real = 0;
  for (const problem::Workload& workload : climb.problem.workloads) {
    if (workload.role != problem::Role::kReal) continue;
    const auto recorded = std::find_if(climb.real.begin(), climb.real.end(), [&](const Case& c) { return c.name.name == workload.name; });
    if (recorded == climb.real.end() || is_too_dear(climb.problem, workload, gpu)) {
      left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", workload.name);
      continue;
    }
    Case c = *recorded;   // its tensors go when its turn is over
    std::vector<device::Fingerprint> outputs;
    KW_TRY(auto result, run_on_gpu(climb, c, 0, tally, &outputs));
    if (result.failed) return result;
    if (climb.options.time) climb.verified.push_back({static_cast<size_t>(recorded - climb.real.begin()), outputs});
    for (const auto& rival : climb.rivals)
      if (rival->torch) verify_torch(*rival, c);
    ++real;
  }
  climb.gpu_run = tally.runs;
  climb.metrics.insert(climb.metrics.end(), tally.metrics.begin(), tally.metrics.end());
  return RungResult{std::nullopt, fmt::format("{} workloads, {} of them real, on {}{}", tally.runs, real, gpu.name,
                                              left_out.empty() ? "" : "; left out as too dear: " + left_out)};
}

}  // namespace kw::judge
