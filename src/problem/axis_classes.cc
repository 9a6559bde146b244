#include "problem/axis_classes.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kLinesOfProduct = 64;   // of one operand, to be worth packing the other one for,
constexpr std::int64_t kMostPacked = 1 << 21;  // which has at the most so many elements

// By the order in ops.def; casts, stores and the like are named below.
bool is_elementwise(Op op) {
  const OpGroup group = op_group(op);
  return group == OpGroup::kRound || group == OpGroup::kApproximate || (op >= Op::kNegate && op <= Op::kRemainder);
}

}  // namespace

void AxisClasses::block_diagonals() {
  for (const auto& [id, first] : first_)
    for (std::size_t i = 0; i < shape(id).size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (class_of(id, i) == class_of(id, k)) classes_[class_of(id, i)].blocked = true;
}

// Runs of axes with the same product on both sides: the leading ones go together, those inside a run do not.
void AxisClasses::tie_reshape(NodeId made, NodeId operand) {
  const tensor::Shape &from = shape(operand), &to = shape(made);
  if (known_.counts[static_cast<std::size_t>(made)] == 0) {
    block_all(made);
    return block_all(operand);
  }
  std::size_t i = 0, k = 0;
  const auto skip_ones = [](const tensor::Shape& sizes, std::size_t& axis) {
    while (axis < sizes.size() && sizes[axis] == 1) ++axis;
  };
  for (skip_ones(from, i), skip_ones(to, k); i < from.size() && k < to.size(); skip_ones(from, i), skip_ones(to, k)) {
    std::int64_t left = from[i], right = to[k];
    tie(operand, i++, made, k++);
    while (left != right) {
      if (left < right) {
        left *= from[i];
        block(operand, i++);
      } else {
        right *= to[k];
        block(made, k++);
      }
    }
  }
}

void AxisClasses::tie_reduction(const Node& node, NodeId made) {
  const NodeId operand = node.operands[0];
  std::vector<bool> reduced(shape(operand).size(), false);
  for (const std::int64_t axis : node.axes) reduced[static_cast<std::size_t>(axis)] = true;
  for (std::size_t axis = 0, to = 0; axis < reduced.size(); ++axis) {
    if (reduced[axis]) {
      block(operand, axis);
      to += node.keepdims ? 1 : 0;
      continue;
    }
    tie(operand, axis, made, to++);
    // Sums of one column are added up as a row is, in another order than columns.
    if (!node.axes.empty() && static_cast<std::int64_t>(axis) > node.axes.front()) {
      Class& inner = classes_[class_of(operand, axis)];
      inner.least = std::max<std::int64_t>(inner.least, 2);
    }
  }
}

// Batches; rows and columns where they are many for the matrix that all of them need.
void AxisClasses::tie_product(const Node& node, NodeId made) {
  const NodeId a = node.operands[0], b = node.operands[1];
  tie_broadcast(made, a, 2);
  tie_broadcast(made, b, 2);
  const std::size_t a_rank = shape(a).size(), b_rank = shape(b).size(), rank = shape(made).size();
  const std::int64_t m = shape(a)[a_rank - 2], k = shape(a)[a_rank - 1], n = shape(b)[b_rank - 1];
  tie(a, a_rank - 2, made, rank - 2);
  tie(b, b_rank - 1, made, rank - 1);
  const auto limit = [&](std::size_t axis, std::int64_t size, std::int64_t other) {
    Class& lines = classes_[class_of(made, axis)];
    lines.least = std::max(lines.least, kLinesOfProduct);
    if (k * other > kMostPacked || std::min(k, other) > size / 4) lines.blocked = true;
  };
  limit(rank - 2, m, n);
  limit(rank - 1, n, m);
  block(a, a_rank - 1);
  block(b, b_rank - 2);
}

void AxisClasses::compute(NodeId id) {
  const Node& node = problem_.graph.nodes[static_cast<std::size_t>(id)];
  for (const NodeId operand : node.operands) see(operand);
  see(id);
  const std::int64_t axis = node.axes.empty() ? 0 : node.axes[0];
  switch (node.op) {
    case Op::kConstant:
    case Op::kSize:
    case Op::kArange: break;
    case Op::kTranspose:
      for (std::size_t i = 0; i < node.axes.size(); ++i) tie(node.operands[0], static_cast<std::size_t>(node.axes[i]), id, i);
      break;
    case Op::kReshape: tie_reshape(id, node.operands[0]); break;
    case Op::kSlice:
      if (shape(id) == shape(node.operands[0]))
        tie_broadcast(id, node.operands[0]);
      else
        tie_but(id, node.operands[0], axis);
      break;
    case Op::kConcat:
    case Op::kScatter:
    case Op::kScatterAdd:
    case Op::kScatterMax:
    case Op::kScatterMin:
    case Op::kSort:
    case Op::kArgsort:
    case Op::kCumsum:
    case Op::kCumprod:
    case Op::kCummax:
    case Op::kCummin:
      for (const NodeId operand : node.operands) tie_but(id, operand, axis);
      break;
    case Op::kScan:
      tie_but(id, node.operands[0], axis);
      tie_but(id, node.operands[1], axis);
      for (std::size_t i = 0; node.operands.size() > 2 && i < shape(node.operands[2]).size(); ++i)
        tie(node.operands[2], i, id, i < static_cast<std::size_t>(axis) ? i : i + 1);
      break;
    case Op::kTake: {
      const std::size_t along = static_cast<std::size_t>(axis), picks = shape(node.operands[1]).size();
      for (std::size_t i = 0; i < picks; ++i) tie(node.operands[1], i, id, along + i);
      for (std::size_t i = 0; i < shape(node.operands[0]).size(); ++i) {
        if (i != along) tie(node.operands[0], i, id, i < along ? i : i + picks - 1);
        if (i >= along) block(node.operands[0], i);  // every slice would read all rows of the table
      }
      break;
    }
    case Op::kGather:
      for (std::size_t i = 0; i < shape(id).size(); ++i) {
        tie(node.operands[1], i, id, i);
        if (static_cast<std::int64_t>(i) != axis) tie(node.operands[0], i, id, i);
      }
      block(node.operands[0], static_cast<std::size_t>(axis));
      break;
    case Op::kFlip:
    case Op::kPad:
    case Op::kWindows:
    case Op::kMaxPool:
    case Op::kAvgPool:
      for (std::size_t i = 0; i < shape(node.operands[0]).size(); ++i) tie(node.operands[0], i, id, i);
      for (const std::int64_t each : node.axes) block(id, static_cast<std::size_t>(each));
      for (std::size_t i = shape(node.operands[0]).size(); i < shape(id).size(); ++i) block(id, i);
      break;
    case Op::kConv:
    case Op::kConvTranspose:
      for (const NodeId value : {id, node.operands[0], node.operands[1]})
        for (std::size_t i = value == node.operands[1] ? 0 : 1; i < shape(value).size(); ++i) block(value, i);
      tie(node.operands[0], 0, id, 0);
      break;
    case Op::kMatmul: tie_product(node, id); break;
    case Op::kSum:
    case Op::kMean:
    case Op::kProd:
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kArgmax:
    case Op::kArgmin: tie_reduction(node, id); break;
    case Op::kPhilox:
    case Op::kPhiloxBlocks:
      for (const NodeId operand : node.operands) {
        const std::size_t outer = shape(id).size() - 1;
        for (std::size_t i = 0; i < outer; ++i) tie(operand, i, id, i);
        if (shape(operand).size() > outer) block(operand, outer);
      }
      block(id, shape(id).size() - 1);
      break;
    case Op::kBroadcast:
    case Op::kWhere:
    case Op::kStore:
    case Op::kCast:
    case Op::kUniform:
      for (const NodeId operand : node.operands) tie_broadcast(id, operand);
      break;
    default:
      if (is_elementwise(node.op)) {
        for (const NodeId operand : node.operands) tie_broadcast(id, operand);
        break;
      }
      block_all(id);
      for (const NodeId operand : node.operands) block_all(operand);
  }
  block_diagonals();
}


}  // namespace kw::problem
