// Functions by index and order: gather, scatter, sorts, counts.

#include "problem/function.h"

namespace kw::problem {
namespace {

Result<NodeId> make_gather(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId index, call.tensor(1));
  KW_TRY(const std::int64_t axis, call.axis(2, -1));
  return call.builder.gather(x, index, axis);
}

template <Op op>
Result<NodeId> make_scatter(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId index, call.tensor(1));
  KW_TRY(const NodeId updates, call.tensor(2));
  KW_TRY(const std::int64_t axis, call.axis(3, -1));
  return call.builder.scatter(op, x, index, updates, axis);
}

template <Op op>
Result<NodeId> make_sort(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const std::int64_t axis, call.axis(1, -1));
  KW_TRY(const bool descending, call.flag("descending"));
  return call.builder.along(op, x, axis, descending);
}

template <Op op>
Result<NodeId> make_topk(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const Dim k, call.size(1));
  KW_TRY(const std::int64_t given, call.axis(2, -1));
  KW_TRY(const std::int64_t axis, call.builder.axis_of(x, given));
  const Dim& size = call.builder.node(x).shape[static_cast<std::size_t>(axis)];
  const auto wanted = k.constant(), there = size.constant();
  if (wanted && (*wanted < 0 || (there && *wanted > *there)))
    return fail(ErrorCode::kInvalid, "the {} largest along an axis of size {}; k lies between 0 and the size", *wanted,
                size.text());
  KW_TRY(const NodeId sorted, call.builder.along(op, x, axis, true));
  return call.builder.slice(sorted, axis, Dim(0), k, 1);
}

// How often each number below `size` occurs in x, of any shape, or the sum of the weights there.
Result<NodeId> count_of(Call& call, NodeId x, const Dim& size, NodeId weights) {
  Dim elements(1);
  for (const Dim& dim : call.builder.node(x).shape) {
    KW_TRY(elements, Dim::multiply(elements, dim));
  }
  KW_TRY(const NodeId weighted, call.builder.broadcast(weights, call.builder.node(x).shape));
  KW_TRY(const NodeId places, call.builder.reshape(x, {elements}));
  KW_TRY(const NodeId updates, call.builder.reshape(weighted, {elements}));
  KW_TRY(const NodeId zero, call.builder.size(Dim(0)));
  KW_TRY(const NodeId zeros, call.builder.broadcast(zero, {size}));
  return call.builder.scatter(Op::kScatterAdd, zeros, places, updates, 0);
}

Result<NodeId> make_bincount(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const Dim size, call.size(1));
  KW_TRY(const auto given, call.optional_tensor(2, "weights"));
  if (given) return count_of(call, x, size, *given);
  KW_TRY(const NodeId one, call.builder.size(Dim(1)));
  return count_of(call, x, size, one);
}

// Bins of equal width, half open but for the last; elements outside [low, high] and NaN are not counted.
Result<NodeId> make_histogram(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId low, call.tensor(1));
  KW_TRY(const NodeId high, call.tensor(2));
  KW_TRY(const Dim bins, call.size(3));
  KW_TRY(const NodeId count, call.builder.size(bins));
  KW_TRY(const NodeId above, call.apply(Op::kSubtract, x, low));
  KW_TRY(const NodeId range, call.apply(Op::kSubtract, high, low));
  KW_TRY(const NodeId scale, call.apply(Op::kDivide, count, range));
  KW_TRY(const NodeId scaled, call.apply(Op::kMultiply, above, scale));
  KW_TRY(const NodeId whole, call.builder.cast(scaled, DType::kI64));  // NaN: 0
  KW_TRY(const Dim last, Dim::subtract(bins, Dim(1)));
  KW_TRY(const NodeId top, call.builder.size(last));
  KW_TRY(const NodeId zero, call.builder.size(Dim(0)));
  KW_TRY(const NodeId positive, call.apply(Op::kMaximum, whole, zero));
  KW_TRY(const NodeId place, call.apply(Op::kMinimum, positive, top));
  KW_TRY(const NodeId not_below, call.apply(Op::kGreaterEqual, x, low));
  KW_TRY(const NodeId not_above, call.apply(Op::kLessEqual, x, high));
  KW_TRY(const NodeId inside, call.apply(Op::kAnd, not_below, not_above));
  KW_TRY(const NodeId one, call.builder.size(Dim(1)));
  KW_TRY(const NodeId weight, call.builder.where(inside, one, zero));
  return count_of(call, place, bins, weight);
}

constexpr std::string_view kSort = "axis descending";
constexpr Function kFunctions[] = {
    {"gather", "gather(x, index, axis=-1)", 2, 3, "axis", make_gather},
    {"scatter", "scatter(x, index, updates, axis=-1)", 3, 4, "axis", make_scatter<Op::kScatter>},
    {"scatter_add", "scatter_add(x, index, updates, axis=-1)", 3, 4, "axis", make_scatter<Op::kScatterAdd>},
    {"scatter_max", "scatter_max(x, index, updates, axis=-1)", 3, 4, "axis", make_scatter<Op::kScatterMax>},
    {"scatter_min", "scatter_min(x, index, updates, axis=-1)", 3, 4, "axis", make_scatter<Op::kScatterMin>},
    {"sort", "sort(x, axis=-1, descending=false)", 1, 2, kSort, make_sort<Op::kSort>},
    {"argsort", "argsort(x, axis=-1, descending=false)", 1, 2, kSort, make_sort<Op::kArgsort>},
    {"topk", "topk(x, k, axis=-1)", 2, 3, "axis", make_topk<Op::kSort>},
    {"topk_index", "topk_index(x, k, axis=-1)", 2, 3, "axis", make_topk<Op::kArgsort>},
    {"bincount", "bincount(x, size, weights)", 2, 3, "weights", make_bincount},
    {"histogram", "histogram(x, low, high, bins)", 4, 4, "", make_histogram},
};

}  // namespace

std::span<const Function> index_functions() { return kFunctions; }

}  // namespace kw::problem
