// Nodes that move elements and compute nothing: transposes, reshapes, broadcasts, slices, concatenation, take.
#include <algorithm>

#include "problem/graph_builder.h"

namespace kw::problem {
namespace {

Result<Dim> element_count(const SymbolicShape& shape) {
  Dim product(1);
  for (const Dim& dim : shape) {
    KW_TRY(product, Dim::multiply(product, dim));
  }
  return product;
}

bool has_quotient(const SymbolicShape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.has_quotient(); });
}

}  // namespace

Result<NodeId> GraphBuilder::transpose(NodeId a, std::vector<std::int64_t> permutation) {
  const std::size_t rank = node(a).shape.size();
  Node made;
  made.op = Op::kTranspose;
  made.kind = node(a).kind;
  made.operands = {a};
  if (permutation.size() != rank)
    return fail(ErrorCode::kInvalid, "permute of {} with {} axes; name each of its {} axes once",
                shape_text(node(a).shape), permutation.size(), rank);
  for (std::int64_t axis : permutation) {
    KW_TRY(axis, axis_of(a, axis));
    if (std::find(made.axes.begin(), made.axes.end(), axis) != made.axes.end())
      return fail(ErrorCode::kInvalid, "permute names axis {} twice; name each axis once", axis);
    made.axes.push_back(axis);
    made.shape.push_back(node(a).shape[static_cast<std::size_t>(axis)]);
  }
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::swap_last_two(NodeId a) {
  const auto rank = static_cast<std::int64_t>(node(a).shape.size());
  if (rank < 2)
    return fail(ErrorCode::kInvalid, "transpose of shape {}; it needs two axes to swap",
                shape_text(node(a).shape));
  std::vector<std::int64_t> permutation;
  for (std::int64_t i = 0; i < rank - 2; ++i) permutation.push_back(i);
  permutation.push_back(rank - 1);
  permutation.push_back(rank - 2);
  return transpose(a, std::move(permutation));
}

Result<NodeId> GraphBuilder::reshape(NodeId a, SymbolicShape shape) {
  KW_TRY(const Dim before, element_count(node(a).shape));
  KW_TRY(const Dim after, element_count(shape));
  // With // or % in play a constraint such as K % 32 == 0 may make them equal: each workload is checked.
  if (!(before == after) && !has_quotient(shape) && !has_quotient(node(a).shape))
    return fail(ErrorCode::kInvalid, "reshape of {} to {}: {} elements become {}", shape_text(node(a).shape),
                shape_text(shape), before.text(), after.text());
  Node made;
  made.op = Op::kReshape;
  made.kind = node(a).kind;
  made.shape = std::move(shape);
  made.operands = {a};
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::broadcast(NodeId a, SymbolicShape shape) {
  KW_TRY(const SymbolicShape both, broadcast_shape(node(a).shape, shape, "broadcast"));
  if (both != shape)
    return fail(ErrorCode::kInvalid, "broadcast of {} to {}: only axes of size 1 grow",
                shape_text(node(a).shape), shape_text(shape));
  Node made;
  made.op = Op::kBroadcast;
  made.kind = node(a).kind;
  made.shape = std::move(shape);
  made.operands = {a};
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::slice(NodeId a, std::int64_t axis, Dim start, Dim stop, std::int64_t step) {
  KW_TRY(axis, axis_of(a, axis));
  if (step < 1) return fail(ErrorCode::kInvalid, "a slice by step {}; steps start at 1", step);
  const Dim& size = node(a).shape[static_cast<std::size_t>(axis)];
  const auto first = start.constant(), last = stop.constant(), whole = size.constant();
  const bool outside = (first && *first < 0) || (first && last && *first > *last) ||
                       (last && whole && *last > *whole) || (first && whole && *first > *whole);
  if (outside)
    return fail(ErrorCode::kInvalid,
                "slice {}:{} of an axis of size {}; bounds lie within it, the first not after the last",
                start.text(), stop.text(), size.text());
  KW_TRY(Dim length, Dim::subtract(stop, start));
  if (step > 1) {
    KW_TRY(length, Dim::add(length, Dim(step - 1)));
    KW_TRY(length, Dim::floor_divide(length, Dim(step)));
  }
  Node made;
  made.op = Op::kSlice;
  made.kind = node(a).kind;
  made.shape = node(a).shape;
  made.shape[static_cast<std::size_t>(axis)] = std::move(length);
  made.operands = {a};
  made.axes = {axis};
  made.start = std::move(start);
  made.stop = std::move(stop);
  made.step = step;
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::concat(const std::vector<NodeId>& parts, std::int64_t axis) {
  if (parts.empty()) return fail(ErrorCode::kInvalid, "concat of nothing; give it tensors");
  KW_TRY(axis, axis_of(parts[0], axis));
  const auto joined = static_cast<std::size_t>(axis);
  Node made;
  made.op = Op::kConcat;
  made.kind = node(parts[0]).kind;
  made.shape = node(parts[0]).shape;
  made.operands = parts;
  made.axes = {axis};
  for (std::size_t p = 1; p < parts.size(); ++p) {
    const Node& part = node(parts[p]);
    bool fits = part.shape.size() == made.shape.size() && part.kind == made.kind;
    for (std::size_t i = 0; fits && i < part.shape.size(); ++i)
      fits = i == joined || part.shape[i] == made.shape[i];
    if (!fits)
      return fail(ErrorCode::kInvalid,
                  "concat along axis {} of {} ({}) and {} ({}); kinds and the other axes must agree", axis,
                  shape_text(node(parts[0]).shape), kind_name(made.kind), shape_text(part.shape),
                  kind_name(part.kind));
    KW_TRY(made.shape[joined], Dim::add(made.shape[joined], part.shape[joined]));
  }
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::take(NodeId a, NodeId index, std::int64_t axis) {
  KW_TRY_VOID(check_index(Op::kTake, index));
  KW_TRY(axis, axis_of(a, axis));
  Node made;
  made.op = Op::kTake;
  made.kind = node(a).kind;
  made.operands = {a, index};
  made.axes = {axis};
  const SymbolicShape& shape = node(a).shape;
  made.shape.assign(shape.begin(), shape.begin() + axis);
  made.shape.insert(made.shape.end(), node(index).shape.begin(), node(index).shape.end());
  made.shape.insert(made.shape.end(), shape.begin() + axis + 1, shape.end());
  return add(std::move(made));
}

}  // namespace kw::problem
