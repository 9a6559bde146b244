// The rung that measures. A timed call is an ordinary call, with contents of its own and checked afterwards:
//   Each block of calls has one secret turn of the inputs and two secret places where buffers lie. Calls at both must give the
//   same bits, and where the turn is 0 the bits that rung full compared with the reference.
//   A kernel cannot tell such a call from another, so what it does when timed is what was checked.
//   Before each call outputs and workspace are poison, module variables as at first, the L2 cache is emptied and its
//   persisting lines are given back; guard bands and inputs are compared after it.
//   Of calls one after the other, which the warm figure comes from, the last is checked.
//   Three clocks: events on the device, the host's around batches, and last, around some calls more, the device's own record of
//   when kernels ran, where that can be had.
//   Calls come in groups; the interval is taken over the groups' medians. It ends when the interval is narrow or the budget spent.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/rng.h"
#include "device/probe.h"
#include "judge/energy.h"
#include "judge/run_cases.h"
#include "judge/trace.h"
#include "problem/inputs.h"

namespace kw::judge {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

constexpr int kFewestGroups = 8, kMostGroups = 64;
constexpr int kBlocks = 4;                 // of a group; each has two calls
constexpr double kNarrow = 0.005;          // relative width of the interval at which measuring ends
constexpr double kWarmUp_s = 0.1;          // calls before the first that counts: clocks rise with work
constexpr double kBatch_s = 2e-3;          // of warm calls, long for both clocks
constexpr int kMostRepeats = 1000;
// What the clocks of host and device may differ by around a batch: launching, and waiting for the end.
constexpr double kClocksRelative = 0.05, kClocks_s = 100e-6;
constexpr double kLoops_s = 60;            // beyond the deadline, for loops of calls
// Bandwidths by name and as reached differ by less; a clock that is off by more is no clock.
constexpr double kBeyondFloor = 0.95;

// Inputs whose elements may stand in any order: each is drawn like every other.
std::vector<std::string> turnable(const problem::Problem& problem, const problem::Workload& workload) {
  using Form = problem::Distribution::Form;
  std::vector<std::string> out;
  for (const problem::TensorDecl& input : problem.inputs) {
    const auto distribution = problem::distribution_of(input, workload);
    if (!distribution) continue;
    const Form form = distribution->form;
    if (form == Form::kNormal || form == Form::kUniform || form == Form::kIntegers || form == Form::kSpikes) out.push_back(input.name);
  }
  return out;
}

// One candidate's plan, or PyTorch.
struct Contestant {
  std::string name;
  const Climb& climb;
  const Case& c;
  const std::vector<device::Fingerprint>& right;   // outputs of the inputs as written
  std::unique_ptr<device::LoadedPlan> loaded = nullptr;
  bool may_repeat = false;
  std::array<device::CallReport, 2> block = {};    // the last block's calls
  std::string why_not = "";                        // a rival that failed when timed: it is called no more
  bool takes_part() const { return why_not.empty(); }
  double block_s() const { return std::sqrt(block[0].device_s * block[1].device_s); }
};

class Measurement {
 public:
  Measurement(const Climb& climb, const Verified& verified) : climb_(climb), rng_(0) {
    add(climb.candidate_path, climb, verified);
    const std::string& workload = own().c.name.name;
    for (const auto& rival : climb.rivals) {
      std::string name = rival->candidate_path;
      if (rival->torch && rival->torch->style.contains(workload)) name += " " + rival->torch->style.at(workload);
      for (const Verified& other : rival->verified)
        if (rival->real[other.real].name.name == workload) add(name, *rival, other);
      if (contestants_.back().climb.candidate_path != rival->candidate_path && rival->torch && rival->torch->why_not.contains(workload))
        timing_.rivals.push_back({rival->candidate_path, std::nullopt, rival->torch->why_not.at(workload), false});
    }
    rng_ = Rng(climb.seed).fork("timed " + own().c.name.name);
    timing_.workload = own().c.name;
    options_.key = fingerprint_key(climb);
    options_.turned = turnable(climb.problem, own().c.workload);
    options_.deadline_s = climb.options.kernel_deadline_s;
  }

  // An outcome stands against the candidate; none: timing() has the figures.
  Result<std::optional<Outcome>> run() {
    KW_TRY_VOID(prepare());
    const bool clocks = gpu().capabilities().times;
    Clock::time_point begin = Clock::now();
    do {
      KW_TRY_VOID(block(0));
    } while (!outcome_ && clocks && seconds_since(begin) < kWarmUp_s);
    begin = Clock::now();
    std::vector<double> cold, warm;
    std::vector<std::vector<double>> ratios(contestants_.size());
    while (!outcome_ && clocks && !is_enough(cold, ratios, seconds_since(begin))) {
      std::vector<double> calls;
      std::vector<std::vector<double>> blocks(contestants_.size());
      for (int i = 0; i < kBlocks && !outcome_; ++i) {
        KW_TRY_VOID(block(i));
        for (const device::CallReport& report : own().block) calls.push_back(report.device_s);
        for (size_t k = 0; k < contestants_.size(); ++k)
          if (contestants_[k].takes_part()) blocks[k].push_back(contestants_[k].block_s() / own().block_s());
      }
      if (outcome_) break;
      cold.push_back(median_of(calls));
      for (size_t k = 0; k < contestants_.size(); ++k)
        if (contestants_[k].takes_part()) ratios[k].push_back(median_of(blocks[k]));
      if (own().may_repeat) KW_TRY_VOID(batch(cold.back(), warm));
      look_at_conditions();
    }
    if (outcome_) return std::move(outcome_);
    timing_.groups = static_cast<int>(cold.size());
    if (clocks) {
      timing_.cold_s = widened(with_process(interval_of(cold)), kTick_s / interval_of(cold).middle);
      if (own().may_repeat) timing_.warm_s = with_process(interval_of(warm));
      if (climb_.options.process_spread) timing_.process_s = process_s(timing_.cold_s.middle);
    }
    for (size_t k = 1; k < contestants_.size(); ++k) {
      const Contestant& rival = contestants_[k];
      Ratio ratio{rival.name, std::nullopt, rival.why_not, !rival.climb.torch};
      if (clocks && rival.takes_part()) {
        // Where both are in one process its effect cancels.
        const double processes = rival.climb.torch ? std::sqrt(2.0) * process_s(timing_.cold_s.middle) : 0;
        ratio.cold = widened(with_error(interval_of(ratios[k]), processes / timing_.cold_s.middle), kTick_s / timing_.cold_s.middle);
      }
      if (!clocks && rival.takes_part()) ratio.why = "this device has no clock";
      timing_.rivals.push_back(std::move(ratio));
    }
    outcome_ = beyond_physics();
    if (climb_.in_python) {
      timing_.untraced = "PyTorch's process does not trace kernels";
      if (climb_.options.energy) timing_.unmetered = "PyTorch's process does not say what the GPU draws";
      return std::move(outcome_);
    }
    if (!outcome_ && clocks && climb_.options.energy) look_at_energy();
    if (!outcome_ && clocks) look_at_trace();
    return std::move(outcome_);
  }
  const Timing& timing() const { return timing_; }

 private:
  device::Device& gpu() const { return *climb_.options.gpu; }
  Contestant& own() { return contestants_[0]; }

  void add(std::string name, const Climb& climb, const Verified& verified) {
    contestants_.push_back({std::move(name), climb, climb.real[verified.real], verified.outputs});
  }

  Status prepare() {
    KW_TRY(const auto inputs, problem::make_inputs(climb_.problem, own().c.workload, input_seed(climb_, own().c)));
    for (Contestant& contestant : contestants_) {
      device::LoadOptions load;
      load.track_initialised = false;
      KW_TRY(contestant.loaded, contestant.climb.options.gpu->load(contestant.c.plan, load));
      KW_TRY_VOID(write_inputs(*contestant.loaded, climb_.problem, contestant.c, inputs));
      const auto& buffers = contestant.c.plan.buffers;
      contestant.may_repeat = std::none_of(buffers.begin(), buffers.end(), [](const plan::Buffer& b) { return b.role == plan::Role::kInOut; });
    }
    if (!gpu().capabilities().times || climb_.in_python) return {};
    // What the clock shows around a kernel that does nothing is no candidate's doing.
    KW_TRY(const auto idle, gpu().load(device::launch_probe(1).plan, {}));
    std::vector<double> around;
    for (int i = 0; i < 20; ++i) {
      device::CallOptions call;
      call.deadline_s = options_.deadline_s;
      KW_TRY(const device::CallReport report, idle->call(call));
      if (i >= 5) around.push_back(report.device_s);
    }
    timing_.launch_s = median_of(around);
    const auto cost = problem::cost_of(climb_.problem, own().c.workload);
    if (const double bandwidth = gpu().capabilities().dram_bytes_per_s; cost && bandwidth > 0) timing_.floor_s = cost->needed_bytes / bandwidth;
    return {};
  }

  // A quarter of them leave the contents that were compared with the reference.
  uint64_t next_turn() { return rng_.below(4) == 0 ? 0 : rng_.next(); }

  // One call of a contestant: its outputs are as they should be, or there is an outcome.
  Result<device::CallReport> call(Contestant& contestant) {
    if (!contestant.takes_part()) return device::CallReport();
    auto called = contestant.loaded->call(options_);
    if (!called && &contestant != &own()) {
      contestant.why_not = called.error().message;
      return device::CallReport();
    }
    KW_TRY(device::CallReport report, std::move(called));
    ++timing_.calls;
    auto failed = judge_findings(contestant.climb, contestant.c, report, true);
    if (!failed && options_.turn == 0 && report.outputs != contestant.right) {
      failed = suspect("every timed output", "a timed call's output is not the one that was compared with the reference for the same inputs");
    }
    if (failed) against(contestant, std::move(*failed));
    return report;
  }

  // Every contestant, then all in reverse order with buffers elsewhere: ABBA, in every other block BAAB. With a group's first
  // block code and memory are new.
  Status block(int index) {
    options_.cold = true;
    options_.repeats = 1;
    options_.turn = next_turn();
    const size_t count = contestants_.size();
    for (size_t i = 0; i < 2 * count; ++i) {
      const bool back = i >= count;
      if (i % count == 0) options_.layout_seed = rng_.next() | 1;
      options_.afresh = index == 0 && !back;
      Contestant& contestant = contestants_[(index % 2 == 1) != back ? count - 1 - i % count : i % count];
      KW_TRY(contestant.block[back ? 1 : 0], call(contestant));
      if (outcome_) return {};
    }
    options_.afresh = false;
    for (Contestant& contestant : contestants_) {
      if (contestant.takes_part() && contestant.block[0].outputs != contestant.block[1].outputs)
        against(contestant, suspect("every timed output", "two timed calls with the same inputs, at different addresses, gave different bits"));
    }
    return {};
  }

  Status batch(double cold_s, std::vector<double>& warm) {
    options_.cold = false;
    options_.repeats = static_cast<int>(std::clamp(std::ceil(kBatch_s / cold_s), 1.0, double{kMostRepeats}));
    options_.turn = rng_.next();
    KW_TRY(const device::CallReport report, call(own()));
    if (outcome_) return {};
    const double host = report.host_s, device = report.device_s;
    if (device > host * (1 + kClocksRelative) || host > device * (1 + kClocksRelative) + kClocks_s) ++disagreements_;
    warm.push_back(device / options_.repeats);
    // A batch may have been held up on the host's side.
    if (disagreements_ > 2 + static_cast<int>(warm.size()) / 4) {
      outcome_ = suspect("two clocks", fmt::format("{} calls in a row took {:.6g} s by the device's clock and {:.6g} s by the host's, and {} batches before them are as far apart",
                                                   options_.repeats, device, host, disagreements_ - 1));
    }
    return {};
  }

  void look_at_conditions() {
    const device::Conditions now = gpu().conditions();
    auto& seen = timing_.conditions;
    seen.sm_mhz_low = seen.sm_mhz_high == 0 ? now.sm_mhz : std::min(seen.sm_mhz_low, now.sm_mhz);
    seen.sm_mhz_high = std::max(seen.sm_mhz_high, now.sm_mhz);
    seen.power_w = std::max(seen.power_w, now.power_w);
    seen.temperature_c = std::max(seen.temperature_c, now.temperature_c);
    const auto torch = std::count_if(climb_.rivals.begin(), climb_.rivals.end(), [](const auto& rival) { return rival->torch.has_value(); });
    seen.other_processes = std::max(seen.other_processes, now.other_processes - static_cast<int>(torch));   // those that only wait are ours
    for (const std::string& reason : now.slowed_by)
      if (std::find(seen.slowed_by.begin(), seen.slowed_by.end(), reason) == seen.slowed_by.end()) seen.slowed_by.push_back(reason);
  }

  // One call of a contestant more, with contents and places of its own. An outcome ends what it is for.
  Result<device::CallReport> call_elsewhere(Contestant& contestant) {
    options_.turn = next_turn();
    options_.layout_seed = rng_.next() | 1;
    KW_TRY(device::CallReport report, call(contestant));
    if (outcome_ || !contestant.takes_part()) return fail(ErrorCode::kInvalid, "a call failed");
    return report;
  }

  void look_at_trace() {
    options_.cold = options_.afresh = options_.trace = true;
    const auto trace = measure_trace(gpu(), options_.deadline_s, timing_.cold_s.middle, [&] { return call_elsewhere(own()); });
    if (outcome_) return;
    if (!trace) {
      timing_.untraced = trace.error().message;
      return;
    }
    timing_.trace = *trace;
    if (auto evidence = disagreement(*trace)) outcome_ = suspect("two clocks", std::move(*evidence));
  }

  // Rivals outside of the jail are on a device of their own, which does not say what they draw.
  void look_at_energy() {
    std::vector<Contestant*> metered;
    for (Contestant& contestant : contestants_)
      if (contestant.takes_part() && contestant.may_repeat && !contestant.climb.torch) metered.push_back(&contestant);
    if (!own().may_repeat) {
      timing_.unmetered = "a call changes its own inputs";
      return;
    }
    options_.cold = options_.afresh = false;
    options_.power = true;
    options_.deadline_s += kLoops_s;   // each call of a loop is as short as before
    const auto energies = measure_energy(gpu(), metered.size(), [&](size_t who, int repeats) {
      options_.repeats = repeats;
      return call_elsewhere(*metered[who]);
    });
    options_.power = false;
    options_.deadline_s -= kLoops_s;
    if (!energies) {
      timing_.unmetered = energies.error().message;
      return;
    }
    timing_.energy = energies->own;
    for (size_t k = 1; k < metered.size(); ++k)
      for (Ratio& ratio : timing_.rivals)
        if (ratio.rival == metered[k]->name) ratio.joules = energies->ratios[k - 1];
  }

  // How far one process more may be from this one's mean of many, which this process is one of.
  double process_s(double seconds) const {
    const auto& spread = climb_.options.process_spread;
    return spread ? t_99(spread->processes - 1) * spread->deviation_s(seconds) : 0;
  }
  Interval with_process(const Interval& interval) const { return with_error(interval, process_s(interval.middle) / interval.middle); }

  bool is_enough(const std::vector<double>& cold, const std::vector<std::vector<double>>& ratios, double spent_s) const {
    const auto count = static_cast<int>(cold.size());
    if (count < kFewestGroups) return false;
    if (count >= kMostGroups || spent_s > climb_.options.time_budget_s) return true;
    for (size_t k = 0; k < ratios.size(); ++k)
      if (contestants_[k].takes_part() && interval_of(ratios[k]).width() >= kNarrow) return false;
    return interval_of(cold).width() < kNarrow;
  }

  std::optional<Outcome> beyond_physics() {
    if (timing_.floor_s > 0 && timing_.cold_s.middle > 0 && timing_.cold_s.middle < kBeyondFloor * timing_.floor_s)
      return suspect("physical floor", fmt::format("{:.4g} s for bytes that the device cannot move in less than {:.4g} s", timing_.cold_s.middle, timing_.floor_s));
    return std::nullopt;
  }

  Outcome suspect(const char* defence, std::string evidence) { return Suspect{own().c.name, defence, std::move(evidence)}; }

  // What a rival does wrong is no verdict on the candidate.
  void against(Contestant& contestant, Outcome outcome) {
    if (&contestant == &own()) {
      outcome_ = std::move(outcome);
      return;
    }
    const auto* suspect = std::get_if<Suspect>(&outcome);
    contestant.why_not = fmt::format("when timed, it is {}{}", name_of(outcome), suspect == nullptr ? "" : ": " + suspect->evidence);
  }

  const Climb& climb_;
  Rng rng_;
  std::vector<Contestant> contestants_;   // the candidate is the first
  device::CallOptions options_;
  int disagreements_ = 0;
  Timing timing_;
  std::optional<Outcome> outcome_;
};

// A process that is slow throughout is left for another, before anything is timed in it. How many were.
Result<int> leave_slow_process(Climb& climb) {
  constexpr int kMostProcesses = 4;
  const auto& spread = climb.options.process_spread;
  int left = 0;
  for (int i = 1; spread && !climb.in_python && i < kMostProcesses; ++i) {
    KW_TRY(const double seconds, device::short_time(*climb.options.gpu, spread->multiprocessors));
    if (!spread->is_slow(seconds)) break;
    KW_TRY(auto another, climb.options.gpu->another());
    if (!another) break;
    for (const auto& rival : climb.rivals)
      if (!rival->torch) rival->options.gpu = another;
    climb.options.gpu = std::move(another);
    ++left;
  }
  return left;
}

}  // namespace

Result<RungResult> time_rung(Climb& climb) {
  KW_TRY(const int left, leave_slow_process(climb));
  std::string detail;
  int calls = 0;
  for (const Verified& verified : climb.verified) {
    Measurement measurement(climb, verified);
    KW_TRY(auto failed, measurement.run());
    if (failed) return RungResult{std::move(failed), ""};
    const Timing& timing = measurement.timing();
    calls += timing.calls;
    if (timing.groups > 0) detail += fmt::format("{}{} {:.2f} us", detail.empty() ? "" : ", ", timing.workload.name, 1e6 * timing.cold_s.middle);
    climb.times.push_back(timing);
  }
  if (climb.verified.empty()) return RungResult{std::nullopt, "no real workload was run"};
  const std::string slow = left == 0 ? "" : fmt::format("; {} slow process{} left for another", left, left == 1 ? "" : "es");
  return RungResult{std::nullopt, fmt::format("{} calls checked{}{}{}", calls, detail.empty() ? ", no clock" : "; cold: ", detail, slow)};
}

}  // namespace kw::judge
