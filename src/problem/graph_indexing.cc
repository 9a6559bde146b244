// Nodes that follow an index or an order: gather, scatter, sorts, scans; and random words.
#include <algorithm>

#include "problem/graph_builder.h"

namespace kw::problem {
namespace {

const Dim kOne(1);

Kind both_kinds(Kind a, Kind b) { return a == b ? a : Kind::kReal; }

}  // namespace

Status GraphBuilder::check_index(Op op, NodeId index) const {
  if (node(index).kind == Kind::kInteger) return {};
  return fail(ErrorCode::kInvalid, "the index of {} is {}; it must be integer: an i32 input, arange, or cast(…, i32)",
              op_name(op), kind_name(node(index).kind));
}

Result<NodeId> GraphBuilder::grown(NodeId a, SymbolicShape shape) {
  return node(a).shape == shape ? a : broadcast(a, std::move(shape));
}

Result<NodeId> GraphBuilder::gather(NodeId a, NodeId index, std::int64_t axis) {
  KW_TRY_VOID(check_index(Op::kGather, index));
  KW_TRY(axis, axis_of(a, axis));
  const auto along = static_cast<std::size_t>(axis);
  SymbolicShape from = node(a).shape, to = node(index).shape;
  if (from.size() != to.size())
    return fail(ErrorCode::kInvalid,
                "gather from {} by an index of {}: an index has as many axes as what it picks from; take picks whole "
                "rows", shape_text(from), shape_text(to));
  const Dim length = from[along], picks = to[along];
  from[along] = to[along] = kOne;
  KW_TRY(from, broadcast_shape(from, to, "gather"));
  to = from;
  from[along] = length;
  to[along] = picks;
  KW_TRY(a, grown(a, std::move(from)));
  KW_TRY(index, grown(index, to));
  Node made;
  made.op = Op::kGather;
  made.kind = node(a).kind;
  made.shape = std::move(to);
  made.operands = {a, index};
  made.axes = {axis};
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::scatter(Op op, NodeId a, NodeId index, NodeId updates, std::int64_t axis) {
  KW_TRY_VOID(check_index(op, index));
  KW_TRY(axis, axis_of(a, axis));
  const Kind kind = node(a).kind, given = node(updates).kind;
  if ((kind == Kind::kBoolean) != (given == Kind::kBoolean))
    return fail(ErrorCode::kInvalid, "{} of kind {} into kind {}; {}", op_name(op), kind_name(given), kind_name(kind),
                kUseCast);
  if (kind == Kind::kBoolean && op != Op::kScatter)
    return fail(ErrorCode::kInvalid, "'{}' of a boolean; {}", op_name(op), kUseCast);
  const SymbolicShape shape = node(a).shape;
  const auto along = static_cast<std::size_t>(axis);
  if (node(index).shape.size() != shape.size())
    return fail(ErrorCode::kInvalid, "{} into {} by an index of {}: an index has as many axes as what it writes to",
                op_name(op), shape_text(shape), shape_text(node(index).shape));
  SymbolicShape to = shape;
  to[along] = node(index).shape[along];
  KW_TRY(const SymbolicShape whole, broadcast_shape(to, node(index).shape, op_name(op)));
  if (whole != to)
    return fail(ErrorCode::kInvalid, "{} into {} by an index of {}: they differ along axis {} only", op_name(op),
                shape_text(shape), shape_text(node(index).shape), axis);
  KW_TRY(const SymbolicShape spread, broadcast_shape(to, node(updates).shape, op_name(op)));
  if (spread != to)
    return fail(ErrorCode::kInvalid, "{} of updates of {} by an index of {}: each index takes one update",
                op_name(op), shape_text(node(updates).shape), shape_text(to));
  KW_TRY(index, grown(index, to));
  KW_TRY(updates, grown(updates, to));
  Node made;
  made.op = op;
  made.kind = both_kinds(kind, given);
  made.shape = shape;
  made.operands = {a, index, updates};
  made.axes = {axis};
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::along(Op op, NodeId a, std::int64_t axis, bool reverse) {
  if (node(a).kind == Kind::kBoolean)
    return fail(ErrorCode::kInvalid, "'{}' of a boolean; {}", op_name(op), kUseCast);
  Node made;
  made.op = op;
  made.kind = op == Op::kArgsort ? Kind::kInteger : node(a).kind;
  made.shape = node(a).shape;
  made.operands = {a};
  made.reverse = reverse;
  KW_TRY(axis, axis_of(a, axis));
  made.axes = {axis};
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::recurrence(NodeId a, NodeId b, std::optional<NodeId> initial, std::int64_t axis,
                                        bool reverse) {
  for (NodeId operand : {a, b, initial.value_or(a)})
    if (node(operand).kind == Kind::kBoolean)
      return fail(ErrorCode::kInvalid, "'scan' of a boolean; {}", kUseCast);
  KW_TRY(const SymbolicShape shape, broadcast_shape(node(a).shape, node(b).shape, "scan"));
  KW_TRY(a, grown(a, shape));
  KW_TRY(b, grown(b, shape));
  Node made;
  made.op = Op::kScan;
  made.kind = both_kinds(node(a).kind, node(b).kind);
  made.reverse = reverse;
  KW_TRY(axis, axis_of(a, axis));
  made.axes = {axis};
  made.operands = {a, b};
  if (initial) {
    SymbolicShape state = shape;
    state.erase(state.begin() + axis);
    KW_TRY(const SymbolicShape both, broadcast_shape(node(*initial).shape, state, "scan"));
    if (both != state)
      return fail(ErrorCode::kInvalid, "scan of {} along axis {} from an initial state of {}; it has the shape {}",
                  shape_text(shape), axis, shape_text(node(*initial).shape), shape_text(state));
    KW_TRY(const NodeId first, grown(*initial, std::move(state)));
    made.kind = both_kinds(made.kind, node(first).kind);
    made.operands.push_back(first);
  }
  made.shape = shape;
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::philox(NodeId seed, NodeId subsequence, NodeId offset) {
  for (NodeId operand : {seed, subsequence, offset})
    if (node(operand).kind != Kind::kInteger)
      return fail(ErrorCode::kInvalid, "philox of kind {}; seed, subsequence and offset are integers",
                  kind_name(node(operand).kind));
  KW_TRY(SymbolicShape shape, broadcast_shape(node(seed).shape, node(subsequence).shape, "philox"));
  KW_TRY(shape, broadcast_shape(shape, node(offset).shape, "philox"));
  Node made;
  made.op = Op::kPhilox;
  made.kind = Kind::kInteger;
  for (NodeId operand : {seed, subsequence, offset}) {
    KW_TRY(const NodeId whole, grown(operand, shape));
    made.operands.push_back(whole);
  }
  made.shape = std::move(shape);
  made.shape.emplace_back(4);
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::philox_blocks(NodeId counter, NodeId key) {
  const auto words = [&](NodeId a, std::int64_t count) {
    const Node& given = node(a);
    return given.kind == Kind::kInteger && !given.shape.empty() && given.shape.back() == Dim(count);
  };
  if (!words(counter, 4) || !words(key, 2))
    return fail(ErrorCode::kInvalid,
                "philox4x32 of {} ({}) and {} ({}); a counter is an integer tensor with a last axis of 4 words, a key "
                "of 2, low words first", shape_text(node(counter).shape), kind_name(node(counter).kind),
                shape_text(node(key).shape), kind_name(node(key).kind));
  SymbolicShape left = node(counter).shape, right = node(key).shape;
  left.back() = right.back() = kOne;
  KW_TRY(SymbolicShape shape, broadcast_shape(left, right, "philox4x32"));
  SymbolicShape keys = shape;
  shape.back() = Dim(4);
  keys.back() = Dim(2);
  KW_TRY(counter, grown(counter, shape));
  KW_TRY(key, grown(key, std::move(keys)));
  Node made;
  made.op = Op::kPhiloxBlocks;
  made.kind = Kind::kInteger;
  made.shape = std::move(shape);
  made.operands = {counter, key};
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::uniform(NodeId words) {
  if (node(words).kind != Kind::kInteger)
    return fail(ErrorCode::kInvalid, "curand_uniform of kind {}; it takes integers of 32 bits, such as philox makes",
                kind_name(node(words).kind));
  Node made;
  made.op = Op::kUniform;
  made.shape = node(words).shape;
  made.operands = {words};
  return add(std::move(made));
}

}  // namespace kw::problem
