// Functions along axes: reductions, the softmax family.

#include "problem/function.h"

namespace kw::problem {
namespace {

template <Op op>
Result<NodeId> make_reduction(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(auto axes, call.axes(1));
  KW_TRY(const bool keepdims, call.keepdims());
  return call.builder.reduce(op, x, std::move(axes), keepdims);
}

Result<NodeId> shifted(Call& call, NodeId x, std::int64_t axis) {  // x - max(x)
  KW_TRY(const NodeId top, call.along(Op::kReduceMax, x, axis));
  return call.apply(Op::kSubtract, x, top);
}

Result<NodeId> make_softmax(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const std::int64_t axis, call.axis(1, -1));
  KW_TRY(const NodeId low, shifted(call, x, axis));
  KW_TRY(const NodeId e, call.apply(Op::kExp, low));
  KW_TRY(const NodeId sum, call.along(Op::kSum, e, axis));
  return call.apply(Op::kDivide, e, sum);
}

Result<NodeId> make_log_softmax(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const std::int64_t axis, call.axis(1, -1));
  KW_TRY(const NodeId low, shifted(call, x, axis));
  KW_TRY(const NodeId e, call.apply(Op::kExp, low));
  KW_TRY(const NodeId sum, call.along(Op::kSum, e, axis));
  KW_TRY(const NodeId log, call.apply(Op::kLog, sum));
  return call.apply(Op::kSubtract, low, log);
}

// log(sum(exp(x - top))) + top, where top is the greatest element if that is finite, else 0: inf - inf is no number.
Result<NodeId> make_logsumexp(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const std::int64_t axis, call.axis(1, -1));
  KW_TRY(const bool keepdims, call.keepdims());
  KW_TRY(const NodeId greatest, call.along(Op::kReduceMax, x, axis));
  KW_TRY(const NodeId finite, call.apply(Op::kIsFinite, greatest));
  KW_TRY(const NodeId zero, call.builder.constant(0));
  KW_TRY(const NodeId top, call.builder.where(finite, greatest, zero));
  KW_TRY(const NodeId low, call.apply(Op::kSubtract, x, top));
  KW_TRY(const NodeId e, call.apply(Op::kExp, low));
  KW_TRY(const NodeId sum, call.builder.reduce(Op::kSum, e, std::vector{axis}, keepdims));
  KW_TRY(const NodeId log, call.apply(Op::kLog, sum));
  KW_TRY(const NodeId base, call.builder.reduce(Op::kReduceMax, top, std::vector{axis}, keepdims));
  return call.apply(Op::kAdd, log, base);
}

Result<NodeId> make_var(Call& call) {  // mean((x - mean)^2), or with a correction sum((x - mean)^2) / (n - correction)
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(auto axes, call.axes(1));
  KW_TRY(const bool keepdims, call.keepdims());
  KW_TRY(const NodeId mean, call.builder.reduce(Op::kMean, x, axes, true));
  KW_TRY(const NodeId off, call.apply(Op::kSubtract, x, mean));
  KW_TRY(const NodeId square, call.apply(Op::kMultiply, off, off));
  const bool corrected = call.find(2, "correction") != nullptr;
  if (!corrected) return call.builder.reduce(Op::kMean, square, std::move(axes), keepdims);
  KW_TRY(const SymbolicShape correction, call.sizes(2, "correction", 1, 0));
  KW_TRY(const NodeId sum, call.builder.reduce(Op::kSum, square, std::move(axes), keepdims));
  Dim count = 1;
  for (std::int64_t axis : call.builder.node(sum).axes) {
    KW_TRY(count, Dim::multiply(count, call.builder.node(x).shape[static_cast<std::size_t>(axis)]));
  }
  KW_TRY(count, Dim::subtract(count, correction[0]));
  KW_TRY(const NodeId terms, call.builder.size(count));
  return call.apply(Op::kDivide, sum, terms);
}

template <Op op>
Result<NodeId> make_condition_reduction(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  if (call.builder.node(x).kind != Kind::kBoolean)
    return fail(ErrorCode::kInvalid, "any and all take a condition, as in any(x > 0)");
  return make_reduction<op>(call);
}

constexpr std::string_view kReduction = "axis keepdims";
constexpr Function kFunctions[] = {
    {"sum", "sum(x, axis, keepdims=false)", 1, 2, kReduction, make_reduction<Op::kSum>},
    {"mean", "mean(x, axis, keepdims=false)", 1, 2, kReduction, make_reduction<Op::kMean>},
    {"prod", "prod(x, axis, keepdims=false)", 1, 2, kReduction, make_reduction<Op::kProd>},
    {"max", "max(x, axis, keepdims=false)", 1, 2, kReduction, make_reduction<Op::kReduceMax>},
    {"min", "min(x, axis, keepdims=false)", 1, 2, kReduction, make_reduction<Op::kReduceMin>},
    {"any", "any(condition, axis, keepdims=false)", 1, 2, kReduction,
     make_condition_reduction<Op::kReduceMax>},
    {"all", "all(condition, axis, keepdims=false)", 1, 2, kReduction,
     make_condition_reduction<Op::kReduceMin>},
    {"argmax", "argmax(x, axis, keepdims=false)", 1, 2, kReduction, make_reduction<Op::kArgmax>},
    {"argmin", "argmin(x, axis, keepdims=false)", 1, 2, kReduction, make_reduction<Op::kArgmin>},
    {"var", "var(x, axis, correction=0, keepdims=false)", 1, 3, "axis correction keepdims", make_var},
    {"softmax", "softmax(x, axis=-1)", 1, 2, "axis", make_softmax},
    {"log_softmax", "log_softmax(x, axis=-1)", 1, 2, "axis", make_log_softmax},
    {"logsumexp", "logsumexp(x, axis=-1, keepdims=false)", 1, 2, kReduction, make_logsumexp},
};

}  // namespace

std::span<const Function> reduction_functions() { return kFunctions; }

}  // namespace kw::problem
