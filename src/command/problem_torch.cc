// kw problem torch: the reference as a PyTorch function, and whether that is the same problem.
#include <algorithm>
#include <cmath>

#include "command/command.h"
#include "judge/execute.h"
#include "judge/torch_device.h"

namespace kw::command {
namespace {

constexpr double kRounding = 1e-9;   // of fp64, relative to an output's size, through some thousand operations

// The worst distance of two fp64 evaluations, relative to the value and the root of the mean square of all.
double distance(const tensor::Tensor& got, const tensor::Tensor& expected) {
  double squares = 0, worst = 0;
  const auto want = expected.f64(), have = got.f64();
  for (const double value : want) squares += std::isfinite(value) ? value * value : 0;
  const double scale = std::sqrt(squares / static_cast<double>(std::max<size_t>(1, want.size())));
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i] == have[i] || (std::isnan(want[i]) && std::isnan(have[i]))) continue;
    const double off = std::abs(have[i] - want[i]) / (std::abs(want[i]) + scale);
    worst = std::max(worst, std::isnan(off) ? HUGE_VAL : off);
  }
  return worst;
}

class Check {
 public:
  Check(problem::Problem problem, const Output& output) : problem_(std::move(problem)), output_(output) {}

  Result<int> run(uint64_t seed) {
    KW_TRY(device_, judge::make_torch_device(problem_, judge::kEager, false));
    bool same = true;
    int workloads = 0;
    std::map<std::string_view, int> right_in;
    for (const problem::Workload& workload : problem_.workloads) {
      if (workload.role == problem::Role::kReal) continue;
      judge::Case c = judge::case_of(workload, false);
      KW_TRY_VOID(judge::prepare(problem_, c, seed, 0));
      KW_TRY(const double off, exact(c));
      std::string line = fmt::format("{}: {:.1e} from the reference in f64{}", workload.name, off, off > kRounding ? " — ANOTHER PROBLEM" : "");
      same = same && off <= kRounding;
      bool right = false;
      for (const std::string_view style : {judge::kStored, judge::kWide}) {
        const auto used = budget_used(c, style);
        line += used ? fmt::format("; {} {:.3g}", style, *used) : fmt::format("; {}: {}", style, used.error().message);
        if (used && *used <= 1) right = ++right_in[style] > 0;
      }
      same = same && right;
      ++workloads;
      output_.out(line + "\n");
    }
    output_.out(fmt::format("{}: {}; of {} workloads {} are right in style {}, {} in style {}\n", problem_.name, same ? "the same problem" : "NOT the same",
                            workloads, right_in[judge::kStored], judge::kStored, right_in[judge::kWide], judge::kWide));
    return same ? 0 : 1;
  }

 private:
  Result<judge::Execution> execute(judge::Case& c, std::string_view style) {
    KW_TRY(c.plan, judge::torch_plan(problem_, c.workload, style));
    return judge::execute(*device_, problem_, c, {}, 0);
  }

  Result<double> exact(judge::Case& c) {
    KW_TRY(c.plan, judge::torch_plan(problem_, c.workload, judge::kReference));
    KW_TRY(auto loaded, device_->load(c.plan, {}));
    KW_TRY_VOID(judge::write_inputs(*loaded, problem_, c, c.inputs));
    KW_TRY_VOID(loaded->run({}));
    double worst = 0;
    for (size_t i = 0; i < problem_.outputs.size(); ++i) {
      KW_TRY(auto got, tensor::Tensor::zeros(tensor::DType::kF64, c.reference.outputs[i].shape()));
      const auto bytes = got.bytes();
      KW_TRY_VOID(loaded->read(problem_.outputs[i].name, std::span(reinterpret_cast<uint8_t*>(bytes.data()), bytes.size())));
      worst = std::max(worst, distance(got, c.reference.outputs[i]));
    }
    return worst;
  }

  // The largest part of an output's budget.
  Result<double> budget_used(judge::Case& c, std::string_view style) {
    KW_TRY(const judge::Execution execution, execute(c, style));
    std::vector<judge::Correct::Output> metrics;
    KW_TRY(const auto comparison, judge::compare(problem_, c, execution, metrics));
    (void)comparison;
    double worst = 0;
    for (const auto& each : metrics) worst = std::max(worst, each.metrics.budget_used);
    return worst;
  }

  problem::Problem problem_;
  const Output& output_;
  std::unique_ptr<device::Device> device_;
};

Result<int> run(const Invocation& invocation, const Output& output) {
  KW_TRY(auto parsed, problem::load_problem(invocation.text("problem")));
  if (invocation.flag("check")) return Check(std::move(parsed), output).run(invocation.integer("seed", 1));
  KW_TRY(const std::string text, judge::torch_text(parsed, invocation.text("style")));
  output.out(text);
  return 0;
}

}  // namespace

Command problem_torch_command() {
  return {{"problem", "torch"},
          "the reference as a PyTorch function; is it the same problem?",
          "Prints what `kw judge --against eager|compile` times. With --check it is run on the CPU at the workloads that are not real:\n"
          "in f64 against the reference, and in the declared dtypes, each style with the part of the error budget that it uses (1: all).",
          {{"problem", ArgumentKind::kPath, true, true, "", "a problem file (docs/formats/problem.md)", {}},
           {"style", ArgumentKind::kText, false, false, std::string(judge::kStored), "computes in: the dtypes that tensors are kept in, f32 between them, f64",
            {std::string(judge::kStored), std::string(judge::kWide), std::string(judge::kReference)}},
           {"check", ArgumentKind::kFlag, false, false, "", "run it and compare, instead of printing it", {}},
           {"seed", ArgumentKind::kInteger, false, false, "1", "with --check: seed of the inputs", {}}},
          run, true};
}

}  // namespace kw::command
