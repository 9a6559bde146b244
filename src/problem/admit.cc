#include "problem/admit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "problem/graph_builder.h"
#include "problem/inputs.h"
#include "problem/needed_work.h"
#include "problem/real_sizes.h"

namespace kw::problem {
namespace {

class Admitter {
 public:
  Admitter(const Problem& problem, const Workload& workload, std::uint64_t seed,
           const EvaluateOptions& options)
      : problem_(problem), workload_(workload), seed_(seed), options_(options) {}

  Result<Admission> run() {
    KW_TRY(inputs_, make_inputs(problem_, workload_, seed_));
    options_.precision = Precision::kReference;
    KW_TRY(reference_, evaluate(problem_, workload_, inputs_, options_));
    KW_TRY(admission_.tolerance, derive_tolerance(problem_, workload_, inputs_, &reference_, options_));
    KW_TRY_VOID(honest("fp32 accumulation", Precision::kHonest, 0));
    KW_TRY_VOID(honest("every operator at its bound", Precision::kDisturbed, seed_ ^ 0xd157u));
    KW_TRY_VOID(simple_mutants());
    KW_TRY_VOID(identity());
    KW_TRY_VOID(other_inputs());
    KW_TRY_VOID(one_shape_only());
    KW_TRY_VOID(truncated());
    KW_TRY_VOID(fraction_dropped());
    KW_TRY(const std::vector<AdmissionCase> work,
           needed_work({problem_, workload_, inputs_, reference_, admission_.tolerance, seed_, options_}));
    KW_TRY(AdmissionCase varies,
           varies_at_real_sizes({problem_, workload_, inputs_, reference_, admission_.tolerance, seed_, options_}));
    admission_.cases.push_back(std::move(varies));
    admission_.cases.insert(admission_.cases.end(), work.begin(), work.end());
    return std::move(admission_);
  }

 private:
  using Values = std::vector<double>;

  // A mutant of one output; the others stay right. Nothing: the mutant does not apply.
  template <typename Make>
  Status mutant(const std::string& name, const std::string& inapplicable, const Make& make) {
    AdmissionCase made{name, AdmissionKind::kMutant, false, true, std::numeric_limits<double>::infinity(), {}};
    for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
      std::optional<Values> values = make(i);
      if (!values) continue;
      made.applicable = true;
      KW_TRY(const tensor::ErrorMetrics metrics, measure(i, *values));
      made.budget_used = std::min(made.budget_used, metrics.budget_used);
      if (!metrics.passed()) continue;
      made.as_expected = false;
      made.detail = fmt::format("output '{}' accepts it: the budget is too wide or the output hardly varies",
                                problem_.outputs[i].name);
    }
    if (!made.applicable) {
      made.detail = inapplicable;
      made.budget_used = 0;
    }
    admission_.cases.push_back(std::move(made));
    return {};
  }

  Result<tensor::ErrorMetrics> measure(std::size_t index, const Values& values) const {
    KW_TRY(const tensor::Shape shape, shape_of(problem_.outputs[index], workload_));
    KW_TRY(const tensor::Tensor got,
           tensor::Tensor::from_doubles(problem_.outputs[index].dtype, shape, values));
    return compare_output(problem_, workload_, index, got, reference_, admission_.tolerance);
  }

  Status honest(const std::string& name, Precision precision, std::uint64_t disturbance) {
    EvaluateOptions run = options_;
    run.precision = precision;
    run.disturbance = disturbance;
    KW_TRY(const Evaluation evaluation, evaluate(problem_, workload_, inputs_, run));
    AdmissionCase made{name, AdmissionKind::kHonest, true, true, 0, {}};
    for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
      KW_TRY(const tensor::ErrorMetrics metrics, measure(i, evaluation.outputs[i].to_doubles()));
      made.budget_used = std::max(made.budget_used, metrics.budget_used);
      // The nearest whole number may be half a step away, which is the whole budget.
      const bool whole = kind_of(problem_.outputs[i].dtype) != Kind::kReal;
      if (metrics.passed() && (whole || metrics.budget_used <= kHonestMargin)) continue;
      made.as_expected = false;
      made.detail =
          fmt::format("output '{}' uses {:.2f} of its budget", problem_.outputs[i].name, metrics.budget_used);
    }
    admission_.cases.push_back(std::move(made));
    return {};
  }

  Status simple_mutants() {
    const auto right = [&](std::size_t i) { return reference_.outputs[i].to_doubles(); };
    KW_TRY_VOID(mutant("zero", "the output is empty", [&](std::size_t i) -> std::optional<Values> {
      if (right(i).empty()) return std::nullopt;
      return Values(right(i).size(), 0.0);
    }));
    KW_TRY_VOID(mutant("constant", "an output of one element is always constant",
                       [&](std::size_t i) -> std::optional<Values> {
                         const Values values = right(i);
                         if (values.size() < 2) return std::nullopt;
                         double sum = 0;
                         for (double value : values) sum += std::isfinite(value) ? value : 0;
                         return Values(values.size(), sum / static_cast<double>(values.size()));
                       }));
    KW_TRY_VOID(
        mutant("last element wrong", "the output is empty", [&](std::size_t i) -> std::optional<Values> {
          Values values = right(i);
          if (values.empty()) return std::nullopt;
          double& last = values.back();
          last = last != 0 && std::isfinite(last) ? 0.0 : 1.0;
          return values;
        }));
    return mutant("tail skipped", "the output is empty", [&](std::size_t i) -> std::optional<Values> {
      Values values = right(i);
      if (values.empty()) return std::nullopt;
      std::fill_n(values.rbegin(), std::max<std::size_t>(1, values.size() / 16), 0.0);
      return values;
    });
  }

  Status identity() {
    return mutant("identity", "no input has as many elements as an output",
                  [&](std::size_t i) -> std::optional<Values> {
                    for (const tensor::Tensor& input : inputs_)
                      if (input.size() == reference_.outputs[i].size() && input.size() > 1)
                        return input.to_doubles();
                    return std::nullopt;
                  });
  }

  Status other_inputs() {
    KW_TRY(const std::vector<tensor::Tensor> other, make_inputs(problem_, workload_, ~seed_));
    KW_TRY(const Evaluation evaluation, evaluate(problem_, workload_, other, options_));
    return mutant("independent of the inputs", "",
                  [&](std::size_t i) { return std::optional(evaluation.outputs[i].to_doubles()); });
  }

  // As many elements as another workload has; the judge would see the rest unwritten.
  Status one_shape_only() {
    return mutant("one shape only", "every small workload has as many elements as this one",
                  [&](std::size_t i) -> std::optional<Values> {
                    Values values = reference_.outputs[i].to_doubles();
                    std::size_t most = 0;
                    for (const Workload& other : problem_.workloads) {
                      if (other.role == Role::kReal) continue;
                      const auto shape = shape_of(problem_.outputs[i], other);
                      const auto count = shape ? tensor::element_count(*shape) : Result<std::int64_t>(0);
                      if (count && static_cast<std::size_t>(*count) < values.size())
                        most = std::max(most, static_cast<std::size_t>(*count));
                    }
                    if (most == 0) return std::nullopt;
                    std::fill(values.begin() + static_cast<std::ptrdiff_t>(most), values.end(), 0.0);
                    return values;
                  });
  }

  Status truncated() {
    std::vector<std::optional<Values>> made;
    for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
      made.emplace_back();
      const DType dtype = problem_.outputs[i].dtype;
      if (kind_of(dtype) != Kind::kReal || tensor::unit_roundoff(dtype) >= 0.25)
        continue;  // no bits to spare
      EvaluateOptions run = options_;
      run.precision = Precision::kTruncated;
      run.truncated_output = i;
      KW_TRY(const Evaluation evaluation, evaluate(problem_, workload_, inputs_, run));
      Values values = evaluation.outputs[i].to_doubles();
      if (values != reference_.outputs[i].to_doubles()) made.back() = std::move(values);
    }
    return mutant("truncated precision", "the output is exact at lower precision too",
                  [&](std::size_t i) { return made[i]; });
  }

  // A whole number that should be the nearest is the next one toward zero.
  Status fraction_dropped() {
    return mutant("fraction dropped", "no output rounds to whole numbers",
                  [&](std::size_t i) -> std::optional<Values> {
                    if (!rounds_to_integers(problem_, problem_.outputs[i])) return std::nullopt;
                    Values values = reference_.outputs[i].to_doubles();
                    const Values right = values;
                    for (double& value : values) value = std::trunc(value);
                    if (values == right) return std::nullopt;
                    return values;
                  });
  }

  const Problem& problem_;
  const Workload& workload_;
  std::uint64_t seed_;
  EvaluateOptions options_;
  std::vector<tensor::Tensor> inputs_;
  Evaluation reference_;
  Admission admission_;
};

}  // namespace

std::string_view kind_name(AdmissionKind kind) {
  switch (kind) {
    case AdmissionKind::kHonest: return "honest";
    case AdmissionKind::kMutant: return "mutant";
    case AdmissionKind::kWork: return "work";
  }
  return "";
}

bool Admission::admitted() const {
  return std::all_of(cases.begin(), cases.end(),
                     [](const AdmissionCase& c) { return !c.applicable || c.as_expected; });
}

const Workload* admission_workload(const Problem& problem) {
  for (const Role role : {Role::kEmulator, Role::kShape, Role::kSmallest})
    for (const Workload& workload : problem.workloads)
      if (workload.role == role) return &workload;
  return problem.workloads.empty() ? nullptr : &problem.workloads.front();
}

Result<Admission> admit(const Problem& problem, const Workload& workload, std::uint64_t seed,
                        const EvaluateOptions& options) {
  const Problem whole = asking_for(problem, [](const TensorDecl&) { return true; });
  auto admission = Admitter(whole, workload, seed, options).run();
  KW_TRY_VOID(seconds_left(options));  // an experiment that had no time left tells nothing
  return admission;
}

}  // namespace kw::problem
