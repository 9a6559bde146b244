#include "problem/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "problem/graph_builder.h"
#include "problem/plan_memory.h"

namespace kw::problem {
namespace {

constexpr std::uint64_t kSignSeed = 0x5eed;

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
    if (group == OpGroup::kReduce && !node.operands.empty()) {
      const auto& shape = shapes.shapes[static_cast<std::size_t>(node.operands[0])];
      std::int64_t length = node.op == Op::kMatmul ? shape.back() : 1;
      if (node.op != Op::kMatmul)
        for (std::int64_t axis : node.axes) length *= shape[static_cast<std::size_t>(axis)];
      path.reduction_length = std::max(path.reduction_length, length);
    }
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

// max |a - b| over finite pairs; an honest value that is not finite says nothing here (admit() sees it).
double largest_error(std::span<const double> a, std::span<const double> reference) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = std::abs(a[i] - reference[i]);
    if (std::isfinite(error)) largest = std::max(largest, error);
  }
  return largest;
}

OutputTolerance derive(const TensorDecl& output, const Path& path, double factor,
                       const tensor::Tensor& reference, const tensor::Tensor& plain,
                       const tensor::Tensor& disturbed) {
  OutputTolerance made;
  made.output = output.name;
  made.factor = factor;
  made.rounding = tensor::unit_roundoff(output.dtype);
  made.reduction_length = path.reduction_length;
  const auto ref = reference.f64(), a = plain.f64(), b = disturbed.f64();
  made.plain_error = largest_error(a, ref);
  made.disturbed_error = largest_error(b, ref);
  double squares = 0;
  std::int64_t finite = 0;
  for (double value : ref)
    if (std::isfinite(value)) {
      squares += value * value;
      ++finite;
    }
  made.reference_rms = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  if (kind_of(output.dtype) != Kind::kReal) {
    made.absolute = std::max(made.plain_error, made.disturbed_error);
    made.budget = {made.absolute, 0};
    made.exact = made.absolute == 0;
    return made;
  }
  if (path.exact && representable(reference, output.dtype)) {
    made.exact = true;
    return made;
  }
  const auto error_at = [&](std::size_t i) {
    const double larger = std::max(std::abs(a[i] - ref[i]), std::abs(b[i] - ref[i]));
    return std::isfinite(larger) && std::isfinite(ref[i]) ? larger : 0;
  };
  for (std::size_t i = 0; i < ref.size(); ++i)
    if (ref[i] != 0 && std::abs(ref[i]) >= made.reference_rms)
      made.relative = std::max(made.relative, error_at(i) / std::abs(ref[i]));
  for (std::size_t i = 0; i < ref.size(); ++i)
    made.absolute = std::max(made.absolute, error_at(i) - made.relative * std::abs(ref[i]));
  if (made.absolute < 1e-9 * std::max(made.plain_error, made.disturbed_error))
    made.absolute = 0;  // rounding of this formula
  made.budget.rtol = factor * made.relative + 2 * made.rounding;
  made.budget.atol = factor * made.absolute + tensor::ulp_at(output.dtype, 0);
  return made;
}

}  // namespace

std::string OutputTolerance::text() const {
  if (exact) return fmt::format("{}: exact", output);
  return fmt::format(
      "{}: rtol {:.2e} = {} x {:.2e} + 2 x {:.2e}; atol {:.2e} = {} x {:.2e} + least denormal "
      "(honest errors: fp32 {:.2e}, disturbed {:.2e}; reference rms {:.2e}; longest reduction {})",
      output, budget.rtol, factor, relative, rounding, budget.atol, factor, absolute, plain_error,
      disturbed_error, reference_rms, reduction_length);
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
  Evaluation plain, disturbed;
  if (!all_exact) {
    run.precision = Precision::kHonest;
    KW_TRY(plain, evaluate(problem, workload, inputs, run));
    run.precision = Precision::kDisturbed;
    run.disturbance = kSignSeed;
    KW_TRY(disturbed, evaluate(problem, workload, inputs, run));
  }
  Tolerance tolerance;
  for (std::size_t i = 0; i < problem.outputs.size(); ++i)
    tolerance.outputs.push_back(derive(problem.outputs[i], paths[i], problem.tolerance_factor,
                                       reference->outputs[i],
                                       all_exact ? reference->outputs[i] : plain.outputs[i],
                                       all_exact ? reference->outputs[i] : disturbed.outputs[i]));
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
