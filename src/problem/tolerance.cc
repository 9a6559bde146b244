#include "problem/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "problem/graph_builder.h"
#include "problem/host_ops.h"
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

// The largest value of body(begin, end) over the pieces of [0, count), at least 0.
template <typename Body>
double largest_of(std::size_t count, int threads, const Body& body) {
  constexpr std::int64_t kPiece = 1 << 16;
  std::vector<double> found(count / kPiece + 1, 0.0);
  for_pieces(static_cast<std::int64_t>(count), kPiece, threads, [&](std::int64_t begin, std::int64_t end) {
    found[static_cast<std::size_t>(begin / kPiece)] = body(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  });
  return *std::max_element(found.begin(), found.end());
}

bool representable(const tensor::Tensor& reference, DType dtype, int threads) {
  const auto values = reference.f64();
  return largest_of(values.size(), threads, [&](std::size_t begin, std::size_t end) {
           for (std::size_t i = begin; i < end; ++i)
             if (!std::isnan(values[i]) && tensor::decode(tensor::encode(values[i], dtype), dtype) != values[i]) return 1.0;
           return 0.0;
         }) == 0;
}

// The largest honest error of each element so far; an honest value that is not finite says nothing here
// (admit() sees it).
class HonestError {
 public:
  explicit HonestError(const tensor::Tensor& reference) : reference_(reference.f64()), errors_(reference_.size()) {}
  double see(const tensor::Tensor& honest, int threads) {  // the largest of this evaluation
    const auto values = honest.f64();
    // Fresh memory that is read before it is written costs twice: each page is the zero page first, and taking that away again
    // interrupts every core.
    const bool first = !std::exchange(seen_, true);
    return largest_of(errors_.size(), threads, [&](std::size_t begin, std::size_t end) {
      double largest = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const double error = std::abs(values[i] - reference_[i]);
        const bool finite = std::isfinite(error);
        if (first) errors_[i] = finite ? error : 0;
        if (!finite) continue;
        if (!first) errors_[i] = std::max(errors_[i], error);
        largest = std::max(largest, error);
      }
      return largest;
    });
  }
  double at(std::size_t i) const { return errors_[i]; }

 private:
  std::span<const double> reference_;
  Buffer errors_;
  bool seen_ = false;
};

struct Honest {  // of one output
  HonestError error;
  double plain = 0, disturbed = 0;  // the largest errors
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
                       const tensor::Tensor& reference, const Honest& honest, int threads) {
  OutputTolerance made;
  made.output = output.name;
  made.factor = problem.tolerance_factor;
  made.rounding = tensor::unit_roundoff(output.dtype);
  made.reduction_length = path.reduction_length;
  const auto ref = reference.f64();
  const HonestError& error = honest.error;
  made.plain_error = honest.plain;
  made.disturbed_error = honest.disturbed;
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
  if (path.exact && representable(reference, output.dtype, threads)) {
    made.exact = true;
    return made;
  }
  made.relative = largest_of(ref.size(), threads, [&](std::size_t begin, std::size_t end) {
    double largest = 0;
    for (std::size_t i = begin; i < end; ++i)
      if (ref[i] != 0 && std::abs(ref[i]) >= made.reference_rms) largest = std::max(largest, error.at(i) / std::abs(ref[i]));
    return largest;
  });
  made.absolute = largest_of(ref.size(), threads, [&](std::size_t begin, std::size_t end) {
    double largest = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const double beyond = error.at(i) - made.relative * std::abs(ref[i]);
      if (beyond > 1e-9 * error.at(i)) largest = std::max(largest, beyond);  // not this formula's rounding
    }
    return largest;
  });
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
  const int threads = threads_of(options);
  std::vector<Honest> honest;
  for (const tensor::Tensor& output : reference->outputs) honest.push_back({HonestError(output)});
  if (!all_exact) {
    // One evaluation at a time is in memory.
    run.precision = Precision::kHonest;
    KW_TRY(Evaluation evaluation, evaluate(problem, workload, inputs, run));
    for (std::size_t i = 0; i < honest.size(); ++i) honest[i].plain = honest[i].error.see(evaluation.outputs[i], threads);
    run.precision = Precision::kDisturbed;
    for (std::int64_t draw = 0, signs = signs_for(problem, shapes); draw < signs; ++draw) {
      run.disturbance = kSignSeed + static_cast<std::uint64_t>(draw);
      evaluation = {};
      KW_TRY(evaluation, evaluate(problem, workload, inputs, run));
      for (std::size_t i = 0; i < honest.size(); ++i)
        honest[i].disturbed = std::max(honest[i].disturbed, honest[i].error.see(evaluation.outputs[i], threads));
    }
  }
  Tolerance tolerance;
  for (std::size_t i = 0; i < problem.outputs.size(); ++i)
    tolerance.outputs.push_back(derive(problem, problem.outputs[i], paths[i], reference->outputs[i], honest[i], threads));
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
