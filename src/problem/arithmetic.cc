#include "problem/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "tensor/error_metrics.h"

namespace kw::problem {
namespace {

bool is_double(const Problem& problem) {
  return std::any_of(problem.outputs.begin(), problem.outputs.end(),
                     [](const TensorDecl& o) { return o.dtype == DType::kF64; });
}

// Mantissa bits of something computed in fewer bits than `dtype` has.
int bits_below(DType dtype) {
  const int bits = -std::ilogb(tensor::unit_roundoff(dtype)) - 1;
  return std::max(1, bits >= 23 ? 10 : bits - 3);
}

// Mantissa bits of the truncated-precision mutant of one output.
int truncated_bits(const Problem& problem, std::size_t output) {
  if (output >= problem.outputs.size() || kind_of(problem.outputs[output].dtype) != Kind::kReal) return 1;
  int bits = bits_below(problem.outputs[output].dtype);
  // What the problem lets a kernel keep in fewer bits is no mistake.
  for (const Node& node : problem.graph.nodes)
    if (node.op == Op::kStore) bits = std::min(bits, bits_below(*node.dtype));
  return bits;
}

}  // namespace

Arithmetic::Arithmetic(const Problem& problem, const EvaluateOptions& options, int threads)
    : precision_(options.precision),
      in_double_(is_double(problem)),
      single_(options.precision == Precision::kHonest && !in_double_),
      bits_(truncated_bits(problem, options.truncated_output)),
      rule_{in_double_ ? 0x1p-53 : 0x1p-24, options.disturbance, threads} {}

void Arithmetic::finish(const Node& node, NodeId id, const std::vector<Array>& operands, const NodeShapes& plan,
                        Buffer& value) const {
  const auto count = static_cast<std::int64_t>(value.size());
  const OpGroup group = op_group(node.op);
  switch (precision_) {
    case Precision::kReference: return;
    case Precision::kHonest: {
      const bool computed =
          group == OpGroup::kRound || group == OpGroup::kApproximate || group == OpGroup::kReduce;
      if (node.op == Op::kStore)
        round_to_dtype(*node.dtype, value.data(), value.data(), count, rule_.threads);
      else if (single_ && node.kind == Kind::kReal && (computed || node.op == Op::kConstant))
        round_to_dtype(DType::kF32, value.data(), value.data(), count, rule_.threads);
      return;
    }
    case Precision::kDisturbed: disturb(node, id, operands, plan, value, rule_); return;
    case Precision::kTruncated:
      if (node.kind == Kind::kReal) round_to_bits(bits_, value.data(), count, rule_.threads);
      return;
  }
}

}  // namespace kw::problem
