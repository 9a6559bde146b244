#include "problem/graph_builder.h"

#include <algorithm>

namespace kw::problem {

Result<NodeId> GraphBuilder::add(Node node) {
  if (graph_.nodes.size() >= kMostNodes)
    return fail(ErrorCode::kLimit, "the reference has more than {} operators; split the problem", kMostNodes);
  if (node.shape.size() > kMostAxes)
    return fail(ErrorCode::kLimit, "a tensor of rank {} is made here; at most {} axes are supported",
                node.shape.size(), kMostAxes);
  node.span = span_;
  graph_.nodes.push_back(std::move(node));
  return static_cast<NodeId>(graph_.nodes.size() - 1);
}

void GraphBuilder::mark_function(NodeId first, NodeId result) {
  for (NodeId id = first; id < next(); ++id)
    if (id != result) graph_.nodes[static_cast<std::size_t>(id)].inside_function = true;
}

Result<SymbolicShape> GraphBuilder::broadcast_shape(const SymbolicShape& a, const SymbolicShape& b,
                                                    std::string_view what) const {
  SymbolicShape shape(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < shape.size(); ++i) {  // from the last axis
    const Dim one(1);
    const Dim& left = i < a.size() ? a[a.size() - 1 - i] : one;
    const Dim& right = i < b.size() ? b[b.size() - 1 - i] : one;
    const bool fits = left == right || left == one || right == one;
    if (!fits)
      return fail(ErrorCode::kInvalid,
                  "'{}' of {} and {}: sizes {} and {} are not known to be equal, and neither is 1", what,
                  shape_text(a), shape_text(b), left.text(), right.text());
    shape[shape.size() - 1 - i] = left == one ? right : left;
  }
  return shape;
}

Result<std::int64_t> GraphBuilder::axis_of(NodeId a, std::int64_t axis) const {
  const auto rank = static_cast<std::int64_t>(node(a).shape.size());
  if (axis < -rank || axis >= rank)
    return fail(ErrorCode::kInvalid, "axis {} of a tensor of shape {}; axes run from {} to {}", axis,
                shape_text(node(a).shape), -rank, rank - 1);
  return axis < 0 ? axis + rank : axis;
}

Result<std::vector<std::int64_t>> GraphBuilder::distinct_axes(Op op, NodeId a, std::vector<std::int64_t> axes) const {
  for (auto at = axes.begin(); at != axes.end(); ++at) {
    KW_TRY(*at, axis_of(a, *at));
    if (std::find(axes.begin(), at, *at) != at)
      return fail(ErrorCode::kInvalid, "'{}' names axis {} twice; name it once", op_name(op), *at);
  }
  return axes;
}

Result<NodeId> GraphBuilder::input(std::int32_t index, DType dtype, SymbolicShape shape) {
  Node made;
  made.op = Op::kInput;
  made.kind = kind_of(dtype);
  made.shape = std::move(shape);
  made.input = index;
  made.dtype = dtype;
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::constant(double value) {
  Node made;
  made.value = value;
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::size(const Dim& value) {
  Node made;
  made.op = Op::kSize;
  made.kind = Kind::kInteger;
  made.start = value;
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::arange(const Dim& start, const Dim& stop) {
  Node made;
  made.op = Op::kArange;
  made.kind = Kind::kInteger;
  made.start = start;
  made.stop = stop;
  KW_TRY(const Dim length, Dim::subtract(stop, start));
  made.shape = {length};
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::unary(Op op, NodeId a) {
  Node made;
  made.op = op;
  made.shape = node(a).shape;
  made.operands = {a};
  const Kind kind = node(a).kind;
  switch (op) {
    case Op::kNot:
      if (kind != Kind::kBoolean)
        return fail(ErrorCode::kInvalid, "'not' of a tensor of kind {}; compare it first, as in x > 0",
                    kind_name(kind));
      made.kind = Kind::kBoolean;
      break;
    case Op::kIsNan:
    case Op::kIsFinite: made.kind = Kind::kBoolean; break;
    case Op::kNegate:
    case Op::kAbs:
    case Op::kSign:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kRound: made.kind = kind; break;
    default: made.kind = Kind::kReal; break;
  }
  if (kind == Kind::kBoolean && op != Op::kNot)
    return fail(ErrorCode::kInvalid, "'{}' of a boolean; {}", op_name(op), kUseCast);
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::binary(Op op, NodeId a, NodeId b) {
  if (op == Op::kMatmul) return matmul(a, b);
  Node made;
  made.op = op;
  made.operands = {a, b};
  const Kind left = node(a).kind, right = node(b).kind;
  const bool booleans = left == Kind::kBoolean && right == Kind::kBoolean;
  switch (op) {
    case Op::kAnd:
    case Op::kOr:
      if (!booleans)
        return fail(ErrorCode::kInvalid,
                    "'{}' of kinds {} and {}; both sides must be conditions, as in x > 0", op_name(op),
                    kind_name(left), kind_name(right));
      made.kind = Kind::kBoolean;
      break;
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
      if ((left == Kind::kBoolean) != (right == Kind::kBoolean))
        return fail(ErrorCode::kInvalid, "'{}' of kinds {} and {}; {}", op_name(op), kind_name(left),
                    kind_name(right), kUseCast);
      made.kind = Kind::kBoolean;
      break;
    default:
      if (left == Kind::kBoolean || right == Kind::kBoolean)
        return fail(ErrorCode::kInvalid, "'{}' of kinds {} and {}; {}", op_name(op), kind_name(left),
                    kind_name(right), kUseCast);
      made.kind = left == Kind::kInteger && right == Kind::kInteger && op_group(op) != OpGroup::kApproximate
                      ? Kind::kInteger
                      : Kind::kReal;
      break;
  }
  KW_TRY(made.shape, broadcast_shape(node(a).shape, node(b).shape, op_name(op)));
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::where(NodeId condition, NodeId a, NodeId b) {
  Node made;
  made.op = Op::kWhere;
  made.operands = {condition, a, b};
  const Kind left = node(a).kind, right = node(b).kind;
  if (node(condition).kind != Kind::kBoolean)
    return fail(ErrorCode::kInvalid, "the first argument of where is {}; it must be a condition, as in x > 0",
                kind_name(node(condition).kind));
  if ((left == Kind::kBoolean) != (right == Kind::kBoolean))
    return fail(ErrorCode::kInvalid, "where chooses between kinds {} and {}; {}", kind_name(left),
                kind_name(right), kUseCast);
  made.kind = left == right ? left : Kind::kReal;
  KW_TRY(made.shape, broadcast_shape(node(a).shape, node(b).shape, "where"));
  KW_TRY(made.shape, broadcast_shape(node(condition).shape, made.shape, "where"));
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::cast(NodeId a, DType dtype, std::optional<tensor::Rounding> rounding, bool saturate,
                                  std::optional<NodeId> words) {
  const bool rounds = tensor::is_float(dtype) && dtype != DType::kF64;
  if (rounding && dtype == DType::kBool)
    return fail(ErrorCode::kInvalid, "a cast to bool does not round; compare, as in x > 0.5");
  if (saturate && !rounds)
    return fail(ErrorCode::kInvalid, "saturate is of floating-point types narrower than f64; a cast to {} {}",
                tensor::name_of(dtype), tensor::is_integer(dtype) ? "always saturates" : "has no need of it");
  if (words && (rounding || !rounds || !tensor::is_signed(dtype)))
    return fail(ErrorCode::kInvalid,
                "bits are of a cast to a signed floating-point type narrower than f64, and take the place of rounding");
  if (words && node(*words).kind != Kind::kInteger)
    return fail(ErrorCode::kInvalid, "the bits of a cast are {}; they are integers below 2^32, such as philox makes",
                kind_name(node(*words).kind));
  Node made;
  made.op = Op::kCast;
  made.kind = kind_of(dtype);
  made.shape = node(a).shape;
  made.operands = {a};
  if (words) {
    KW_TRY(const NodeId spread, grown(*words, node(a).shape));
    made.operands.push_back(spread);
  }
  made.dtype = dtype;
  const bool whole = tensor::is_integer(dtype);
  made.rounding = rounding.value_or(whole ? tensor::Rounding::kTowardZero : tensor::Rounding::kNearestEven);
  made.saturate = saturate;
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::store(NodeId a, DType dtype) {
  if (kind_of(dtype) != node(a).kind && !(tensor::is_float(dtype) && node(a).kind == Kind::kInteger))
    return fail(ErrorCode::kInvalid, "a value of kind {} is kept in {}; write cast(…, {})",
                kind_name(node(a).kind), tensor::name_of(dtype), tensor::name_of(dtype));
  Node made;
  made.op = Op::kStore;
  made.kind = kind_of(dtype);
  made.shape = node(a).shape;
  made.operands = {a};
  made.dtype = dtype;
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::reduce(Op op, NodeId a, std::optional<std::vector<std::int64_t>> axes,
                                    bool keepdims) {
  const SymbolicShape& shape = node(a).shape;
  Node made;
  made.op = op;
  made.operands = {a};
  made.keepdims = keepdims;
  if (axes) {
    KW_TRY(made.axes, distinct_axes(op, a, std::move(*axes)));
    std::sort(made.axes.begin(), made.axes.end());
  } else {
    for (std::size_t i = 0; i < shape.size(); ++i) made.axes.push_back(static_cast<std::int64_t>(i));
  }
  const Kind kind = node(a).kind;
  const bool picks_index = op == Op::kArgmax || op == Op::kArgmin;
  if (picks_index) {
    if (made.axes.size() != 1)
      return fail(ErrorCode::kInvalid, "'{}' over {} axes; name one, as in {}(x, axis=-1)", op_name(op),
                  made.axes.size(), op_name(op));
    made.kind = Kind::kInteger;
  } else if (op == Op::kMean) {
    made.kind = Kind::kReal;
  } else if (op == Op::kSum) {
    made.kind = kind == Kind::kBoolean ? Kind::kInteger : kind;  // counts
  } else {
    made.kind = kind;
  }
  if (kind == Kind::kBoolean && (op == Op::kProd || op == Op::kMean || picks_index))
    return fail(ErrorCode::kInvalid, "'{}' of a boolean; {}", op_name(op), kUseCast);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool reduced =
        std::find(made.axes.begin(), made.axes.end(), static_cast<std::int64_t>(i)) != made.axes.end();
    if (!reduced)
      made.shape.push_back(shape[i]);
    else if (keepdims)
      made.shape.emplace_back(1);
  }
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::matmul(NodeId a, NodeId b) {
  const SymbolicShape left = node(a).shape, right = node(b).shape;
  if (node(a).kind == Kind::kBoolean || node(b).kind == Kind::kBoolean)
    return fail(ErrorCode::kInvalid, "'@' of kinds {} and {}; {}", kind_name(node(a).kind),
                kind_name(node(b).kind), kUseCast);
  if (left.empty() || right.empty())
    return fail(ErrorCode::kInvalid, "'@' of {} and {}: a scalar has no axis to sum over; use *",
                shape_text(left), shape_text(right));
  const Dim& inner = right.size() == 1 ? right[0] : right[right.size() - 2];
  if (!(left.back() == inner))
    return fail(ErrorCode::kInvalid, "'@' of {} and {}: the inner sizes {} and {} are not known to be equal",
                shape_text(left), shape_text(right), left.back().text(), inner.text());
  // A vector is a matrix of one row (left) or one column (right), and that axis goes away again.
  if (left.size() == 1) {
    KW_TRY(const NodeId row, reshape(a, {Dim(1), left[0]}));
    KW_TRY(const NodeId product, matmul(row, b));
    SymbolicShape shape = node(product).shape;
    shape.erase(shape.end() - (right.size() == 1 ? 1 : 2));
    return reshape(product, std::move(shape));
  }
  if (right.size() == 1) {
    KW_TRY(const NodeId column, reshape(b, {right[0], Dim(1)}));
    KW_TRY(const NodeId product, matmul(a, column));
    SymbolicShape shape = node(product).shape;
    shape.pop_back();
    return reshape(product, std::move(shape));
  }
  Node made;
  made.op = Op::kMatmul;
  made.kind = node(a).kind == Kind::kInteger && node(b).kind == Kind::kInteger ? Kind::kInteger : Kind::kReal;
  made.operands = {a, b};
  KW_TRY(made.shape, broadcast_shape(SymbolicShape(left.begin(), left.end() - 2),
                                     SymbolicShape(right.begin(), right.end() - 2), "@"));
  made.shape.push_back(left[left.size() - 2]);
  made.shape.push_back(right.back());
  return add(std::move(made));
}

}  // namespace kw::problem
