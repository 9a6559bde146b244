#include "agent/template_operand.h"

#include <numeric>

#include "agent/template_text.h"

namespace kw::agent {

using problem::DType;
using problem::Node;
using problem::NodeId;
using problem::Op;

Result<Operand> operand_of(const problem::Problem& problem, NodeId id) {
  const auto swaps_last_two = [](const Node& node) {
    std::vector<int64_t> axes(node.axes.size());
    std::iota(axes.begin(), axes.end(), 0);
    if (axes.size() < 2) return false;
    std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    return node.axes == axes;
  };
  Operand out;
  const Node* node = &problem.graph.nodes[static_cast<size_t>(id)];
  while (node->op != Op::kInput) {
    const Node& source = problem.graph.nodes[static_cast<size_t>(node->operands[0])];
    if (node->op == Op::kReshape && source.op == Op::kInput && only_adds_ones(source.shape, node->shape)) out.shape = node->shape;
    else if (node->op == Op::kTranspose && swaps_last_two(*node)) out.transposed = !out.transposed;
    else if (node->op == Op::kStore) out.stored = node->dtype;
    else if (node->op != Op::kCast || node->dtype != DType::kF32) return no_template(problem, fmt::format("an operand of its product is made by '{}'", problem::op_name(node->op)));
    node = &source;
  }
  if (out.shape.empty()) out.shape = node->shape;
  out.input = &problem.inputs[static_cast<size_t>(node->input)];
  if (type_of(out.input->dtype) == nullptr) return no_template(problem, fmt::format("input {} is {}", out.input->name, tensor::name_of(out.input->dtype)));
  return out;
}

std::vector<NodeId> products_of(const problem::Problem& problem) {
  const std::vector<bool> needed = needed_nodes(problem);
  std::vector<NodeId> out;
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i] && problem.graph.nodes[i].op == Op::kMatmul) out.push_back(static_cast<NodeId>(i));
  return out;
}

}  // namespace kw::agent
