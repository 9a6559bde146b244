#include "problem/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "problem/graph_builder.h"
#include "problem/plan_memory.h"

namespace kw::problem {
namespace {

constexpr std::uint64_t kSignSeed = 0x5eed;
constexpr std::int64_t kEnoughElements = 256;  // of an output: some of them see its errors add up
constexpr std::int64_t kMostSigns = 8;
constexpr double kCheapOperations = 1e8;

struct Path {
  bool exact = true;  // nothing on the way to the output rounds
  std::int64_t reduction_length = 1;
};

Path path_to(const Problem& problem, const NodeShapes& shapes, NodeId output) {
  Path path;
  std::vector<bool> reached(problem.graph.nodes.size(), false);
  reached[static_cast<std::size_t>(output)] = true;
  for (std::size_t i = reached.size(); i-- > 0;) {
    if (!reached[i]) continue;
    const Node& node = problem.graph.nodes[i];
    const OpGroup group = op_group(node.op);
    if (node.kind == Kind::kReal && (group == OpGroup::kRound || group == OpGroup::kApproximate ||
                                     group == OpGroup::kReduce || node.op == Op::kStore))
      path.exact = false;
    if (group == OpGroup::kReduce)
      path.reduction_length = std::max(path.reduction_length, static_cast<std::int64_t>(shapes.lengths[i]));
    if (group == OpGroup::kOpaque) path.exact = false;
    for (NodeId operand : node.operands) reached[static_cast<std::size_t>(operand)] = true;
  }
  return path;
}

bool representable(const tensor::Tensor& reference, DType dtype) {
  const auto values = reference.f64();
  return std::all_of(values.begin(), values.end(), [dtype](double v) {
    return std::isnan(v) || tensor::decode(tensor::encode(v, dtype), dtype) == v;
  });
}

// The largest honest error of each element so far; an honest value that is not finite says nothing here
// (admit() sees it).
class HonestError {
 public:
  explicit HonestError(const tensor::Tensor& reference)
      : reference_(reference.f64()), errors_(reference_.size(), 0.0) {}
  double see(const tensor::Tensor& honest) {  // the largest of this evaluation
    const auto values = honest.f64();
    double largest = 0;
    for (std::size_t i = 0; i < errors_.size(); ++i) {
      const double error = std::abs(values[i] - reference_[i]);
      if (!std::isfinite(error)) continue;
      errors_[i] = std::max(errors_[i], error);
      largest = std::max(largest, error);
    }
    return largest;
  }
  double at(std::size_t i) const { return errors_[i]; }

 private:
  std::span<const double> reference_;
  std::vector<double> errors_;
};

// How many disturbed evaluations. With few elements, one draw of signs may let all errors cancel.
std::int64_t signs_for(const Problem& problem, const NodeShapes& shapes) {
  if (shapes.operations > kCheapOperations) return 1;
  std::int64_t fewest = kEnoughElements;
  for (const TensorDecl& output : problem.outputs)
    fewest = std::min(fewest, shapes.counts[static_cast<std::size_t>(output.node)]);
  return std::clamp(kEnoughElements / std::max<std::int64_t>(1, fewest), std::int64_t{1}, kMostSigns);
}

OutputTolerance derive(const Problem& problem, const TensorDecl& output, const Path& path,
                       const tensor::Tensor& reference, const std::vector<const tensor::Tensor*>& honest) {
  OutputTolerance made;
  made.output = output.name;
  made.factor = problem.tolerance_factor;
  made.rounding = tensor::unit_roundoff(output.dtype);
  made.reduction_length = path.reduction_length;
  const auto ref = reference.f64();
  HonestError error(reference);
  for (std::size_t i = 0; i < honest.size(); ++i) {
    double& largest = i == 0 ? made.plain_error : made.disturbed_error;
    largest = std::max(largest, error.see(*honest[i]));
  }
  double squares = 0;
  std::int64_t finite = 0;
  for (double value : ref)
    if (std::isfinite(value)) {
      squares += value * value;
      ++finite;
    }
  made.reference_rms = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  made.whole = rounds_to_integers(problem, output);
  if (kind_of(output.dtype) != Kind::kReal && !made.whole) {
    made.absolute = std::max(made.plain_error, made.disturbed_error);
    made.budget = {made.absolute, 0};
    made.exact = made.absolute == 0;
    return made;
  }
  if (path.exact && representable(reference, output.dtype)) {
    made.exact = true;
    return made;
  }
  for (std::size_t i = 0; i < ref.size(); ++i)
    if (ref[i] != 0 && std::abs(ref[i]) >= made.reference_rms)
      made.relative = std::max(made.relative, error.at(i) / std::abs(ref[i]));
  for (std::size_t i = 0; i < ref.size(); ++i) {
    const double beyond = error.at(i) - made.relative * std::abs(ref[i]);
    if (beyond > 1e-9 * error.at(i))
      made.absolute = std::max(made.absolute, beyond);  // not this formula's rounding
  }
  const double least = tensor::ulp_at(output.dtype, 0);
  if (tensor::bits_of(output.dtype) < 8) made.roundings = 1;
  made.budget.rtol = made.factor * made.relative + made.roundings * made.rounding;
  made.budget.atol = made.factor * made.absolute + (made.whole ? 0.5 : made.roundings * least / 2);
  return made;
}

}  // namespace

bool rounds_to_integers(const Problem& problem, const TensorDecl& output) {
  return kind_of(output.dtype) == Kind::kInteger &&
         problem.graph.nodes[static_cast<std::size_t>(output.node)].kind == Kind::kReal;
}

std::string OutputTolerance::text() const {
  if (exact) return fmt::format("{}: exact", output);
  return fmt::format(
      "{}: rtol {:.2e} = {} x {:.2e} + {} x {:.2e}; atol {:.2e} = {} x {:.2e} + {} "
      "(honest errors: fp32 {:.2e}, disturbed {:.2e}; reference rms {:.2e}; longest reduction {})",
      output, budget.rtol, factor, relative, roundings, rounding, budget.atol, factor, absolute,
      whole ? "half a step" : roundings == 1 ? "half the least denormal" : "least denormal", plain_error, disturbed_error, reference_rms,
      reduction_length);
}

Result<Tolerance> derive_tolerance(const Problem& problem, const Workload& workload,
                                   const std::vector<tensor::Tensor>& inputs, const Evaluation* reference,
                                   const EvaluateOptions& options) {
  EvaluateOptions run = options;
  run.keep_names = false;
  Evaluation own;
  if (reference == nullptr) {
    run.precision = Precision::kReference;
    KW_TRY(own, evaluate(problem, workload, inputs, run));
    reference = &own;
  }
  if (reference->outputs.size() != problem.outputs.size())
    return fail(ErrorCode::kInvalid, "the reference has {} outputs and '{}' has {}",
                reference->outputs.size(), problem.name, problem.outputs.size());
  KW_TRY(const NodeShapes shapes, node_shapes(problem, workload.axes));
  std::vector<Path> paths;
  for (const TensorDecl& output : problem.outputs) paths.push_back(path_to(problem, shapes, output.node));
  // Where nothing rounds, honest evaluations equal the reference.
  const bool all_exact = std::all_of(paths.begin(), paths.end(), [](const Path& p) { return p.exact; });
  std::vector<Evaluation> honest;  // plain, then disturbed
  if (!all_exact) {
    run.precision = Precision::kHonest;
    KW_TRY(Evaluation plain, evaluate(problem, workload, inputs, run));
    honest.push_back(std::move(plain));
    run.precision = Precision::kDisturbed;
    for (std::int64_t i = 0, signs = signs_for(problem, shapes); i < signs; ++i) {
      run.disturbance = kSignSeed + static_cast<std::uint64_t>(i);
      KW_TRY(Evaluation disturbed, evaluate(problem, workload, inputs, run));
      honest.push_back(std::move(disturbed));
    }
  }
  Tolerance tolerance;
  for (std::size_t i = 0; i < problem.outputs.size(); ++i) {
    std::vector<const tensor::Tensor*> values;
    for (const Evaluation& evaluation : honest) values.push_back(&evaluation.outputs[i]);
    tolerance.outputs.push_back(derive(problem, problem.outputs[i], paths[i], reference->outputs[i], values));
  }
  return tolerance;
}

Result<tensor::ErrorMetrics> compare_output(const Problem& problem, const Workload& workload,
                                            std::size_t index, const tensor::Tensor& got,
                                            const Evaluation& reference, const Tolerance& tolerance) {
  if (index >= problem.outputs.size() || index >= reference.outputs.size() ||
      index >= tolerance.outputs.size())
    return fail(ErrorCode::kInvalid, "'{}' has no output number {}", problem.name, index);
  const TensorDecl& output = problem.outputs[index];
  KW_TRY(const tensor::Shape shape, shape_of(output, workload));
  if (got.dtype() != output.dtype || got.shape() != shape)
    return fail(ErrorCode::kInvalid, "output '{}' is {}{}, but {} was given", output.name,
                tensor::name_of(output.dtype), tensor::shape_text(shape), got.description());
  return tensor::compare(got, reference.outputs[index], tolerance.outputs[index].budget);
}

}  // namespace kw::problem
