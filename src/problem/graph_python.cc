// Nodes of Python functions.
#include <algorithm>

#include "problem/graph_builder.h"

namespace kw::problem {
namespace {

// Whether two operands of a call are the same: one node, or sizes or constants of one value.
bool same_operand(const Graph& graph, NodeId left, NodeId right) {
  const Node &a = graph.nodes[static_cast<std::size_t>(left)], &b = graph.nodes[static_cast<std::size_t>(right)];
  if (left == right) return true;
  if (a.op != b.op) return false;
  return a.op == Op::kSize ? a.start == b.start : a.op == Op::kConstant && a.value == b.value;
}

}  // namespace

Result<NodeId> GraphBuilder::python(std::int32_t function, std::vector<NodeId> operands, std::int32_t output,
                                    Kind kind, SymbolicShape shape) {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& other = graph_.nodes[i];
    const bool same = other.op == Op::kPython && other.function == function &&
                      std::equal(operands.begin(), operands.end(), other.operands.begin(), other.operands.end(),
                                 [&](NodeId a, NodeId b) { return same_operand(graph_, a, b); });
    if (!same) continue;
    operands = other.operands;
    if (other.output != output) continue;
    if (other.kind == kind && other.shape == shape) return static_cast<NodeId>(i);
    return fail(ErrorCode::kInvalid, "output {} of this call is {}{} here and {}{} on line {}", output, kind_name(kind),
                shape_text(shape), kind_name(other.kind), shape_text(other.shape), other.span.line);
  }
  Node made;
  made.op = Op::kPython;
  made.kind = kind;
  made.shape = std::move(shape);
  made.operands = std::move(operands);
  made.function = function;
  made.output = output;
  return add(std::move(made));
}

}  // namespace kw::problem
