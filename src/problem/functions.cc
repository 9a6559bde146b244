// The functions of problem files: one table, with the signature that messages show.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "problem/function_call.h"

namespace kw::problem {
namespace {

struct Function {
  std::string_view name;
  std::string_view signature;
  std::size_t least, most;  // arguments by position
  std::string_view keywords;
  Result<NodeId> (*make)(Call&);
};

template <Op op>
Result<NodeId> make_unary(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  return call.apply(op, x);
}

template <Op op>
Result<NodeId> make_binary(Call& call) {
  KW_TRY(const NodeId a, call.tensor(0));
  KW_TRY(const NodeId b, call.tensor(1));
  return call.apply(op, a, b);
}

template <Op op>
Result<NodeId> make_reduction(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(auto axes, call.axes(1));
  KW_TRY(const bool keepdims, call.keepdims());
  return call.builder.reduce(op, x, std::move(axes), keepdims);
}

Result<NodeId> sigmoid(Call& call, NodeId x) {  // 1 / (1 + exp(-x))
  KW_TRY(const NodeId negative, call.apply(Op::kNegate, x));
  KW_TRY(const NodeId e, call.apply(Op::kExp, negative));
  KW_TRY(const NodeId one_more, call.apply(Op::kAdd, Number{1}, e));
  return call.apply(Op::kDivide, Number{1}, one_more);
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

Result<NodeId> make_logsumexp(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const std::int64_t axis, call.axis(1, -1));
  KW_TRY(const bool keepdims, call.keepdims());
  KW_TRY(const NodeId top, call.along(Op::kReduceMax, x, axis));
  KW_TRY(const NodeId low, call.apply(Op::kSubtract, x, top));
  KW_TRY(const NodeId e, call.apply(Op::kExp, low));
  KW_TRY(const NodeId sum, call.builder.reduce(Op::kSum, e, std::vector{axis}, keepdims));
  KW_TRY(const NodeId log, call.apply(Op::kLog, sum));
  KW_TRY(const NodeId base, call.builder.reduce(Op::kReduceMax, x, std::vector{axis}, keepdims));
  return call.apply(Op::kAdd, log, base);
}

Result<NodeId> make_var(Call& call) {  // of the population
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(auto axes, call.axes(1));
  KW_TRY(const bool keepdims, call.keepdims());
  KW_TRY(const NodeId mean, call.builder.reduce(Op::kMean, x, axes, true));
  KW_TRY(const NodeId off, call.apply(Op::kSubtract, x, mean));
  KW_TRY(const NodeId square, call.apply(Op::kMultiply, off, off));
  return call.builder.reduce(Op::kMean, square, std::move(axes), keepdims);
}

Result<NodeId> make_sigmoid(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  return sigmoid(call, x);
}

Result<NodeId> make_silu(Call& call) {  // x * sigmoid(x)
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId gate, sigmoid(call, x));
  return call.apply(Op::kMultiply, x, gate);
}

Result<NodeId> make_gelu(Call& call) {  // x / 2 * (1 + erf(x / sqrt(2)))
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId scaled, call.apply(Op::kMultiply, x, Number{std::numbers::sqrt2 / 2}));
  KW_TRY(const NodeId erf, call.apply(Op::kErf, scaled));
  KW_TRY(const NodeId gate, call.apply(Op::kAdd, Number{1}, erf));
  KW_TRY(const NodeId half, call.apply(Op::kMultiply, x, Number{0.5}));
  return call.apply(Op::kMultiply, half, gate);
}

Result<NodeId> make_gelu_tanh(Call& call) {  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId square, call.apply(Op::kMultiply, x, x));
  KW_TRY(const NodeId cube, call.apply(Op::kMultiply, square, x));
  KW_TRY(const NodeId bent, call.apply(Op::kMultiply, cube, Number{0.044715}));
  KW_TRY(const NodeId sum, call.apply(Op::kAdd, x, bent));
  KW_TRY(const NodeId scaled, call.apply(Op::kMultiply, sum, Number{std::sqrt(2 * std::numbers::inv_pi)}));
  KW_TRY(const NodeId tanh, call.apply(Op::kTanh, scaled));
  KW_TRY(const NodeId gate, call.apply(Op::kAdd, Number{1}, tanh));
  KW_TRY(const NodeId half, call.apply(Op::kMultiply, x, Number{0.5}));
  return call.apply(Op::kMultiply, half, gate);
}

Result<NodeId> make_relu(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId zero, call.builder.size(Dim(0)));
  return call.apply(Op::kMaximum, x, zero);
}

Result<NodeId> make_softplus(Call& call) {  // max(x, 0) + log1p(exp(-|x|))
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId positive, call.apply(Op::kMaximum, x, Number{0.0}));
  KW_TRY(const NodeId magnitude, call.apply(Op::kAbs, x));
  KW_TRY(const NodeId negative, call.apply(Op::kNegate, magnitude));
  KW_TRY(const NodeId e, call.apply(Op::kExp, negative));
  KW_TRY(const NodeId log, call.apply(Op::kLog1p, e));
  return call.apply(Op::kAdd, positive, log);
}

Result<NodeId> make_square(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  return call.apply(Op::kMultiply, x, x);
}

Result<NodeId> make_clamp(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId low, call.tensor(1));
  KW_TRY(const NodeId high, call.tensor(2));
  KW_TRY(const NodeId above, call.apply(Op::kMaximum, x, low));
  return call.apply(Op::kMinimum, above, high);
}

Result<NodeId> make_where(Call& call) {
  KW_TRY(const NodeId condition, call.tensor(0));
  KW_TRY(const NodeId a, call.tensor(1));
  KW_TRY(const NodeId b, call.tensor(2));
  return call.builder.where(condition, a, b);
}

Result<NodeId> make_cast(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  const Argument* dtype = call.find(1, "dtype");
  if (dtype == nullptr || !dtype->dtype)
    return fail(ErrorCode::kInvalid,
                "the second argument of cast is a dtype: f32, f16, bf16, e4m3, i32, bool …");
  return call.builder.cast(x, *dtype->dtype);
}

Result<NodeId> make_transpose(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  return call.builder.swap_last_two(x);
}

Result<NodeId> make_permute(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const auto order, call.axes(1, "axes"));
  return call.builder.transpose(x, order.value_or(std::vector<std::int64_t>()));
}

Result<NodeId> make_reshape(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(SymbolicShape shape, call.shape(1));
  return call.builder.reshape(x, std::move(shape));
}

Result<NodeId> make_broadcast(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(SymbolicShape shape, call.shape(1));
  return call.builder.broadcast(x, std::move(shape));
}

Result<NodeId> make_concat(Call& call) {
  std::vector<NodeId> parts;
  for (std::size_t i = 0; i < call.positional(); ++i) {
    KW_TRY(const NodeId part, call.tensor(i));
    parts.push_back(part);
  }
  KW_TRY(const std::int64_t axis, call.axis(call.positional(), -1));
  return call.builder.concat(parts, axis);
}

Result<NodeId> make_take(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId index, call.tensor(1));
  KW_TRY(const std::int64_t axis, call.axis(2, 0));
  return call.builder.take(x, index, axis);
}

Result<NodeId> make_arange(Call& call) {
  KW_TRY(const Dim first, call.size(0));
  if (call.positional() == 1) return call.builder.arange(Dim(0), first);
  KW_TRY(const Dim last, call.size(1));
  return call.builder.arange(first, last);
}

Result<NodeId> make_cumsum(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const std::int64_t axis, call.axis(1, -1));
  return call.builder.cumsum(x, axis);
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
    {"abs", "abs(x)", 1, 1, "", make_unary<Op::kAbs>},
    {"sign", "sign(x)", 1, 1, "", make_unary<Op::kSign>},
    {"floor", "floor(x)", 1, 1, "", make_unary<Op::kFloor>},
    {"ceil", "ceil(x)", 1, 1, "", make_unary<Op::kCeil>},
    {"trunc", "trunc(x)", 1, 1, "", make_unary<Op::kTrunc>},
    {"round", "round(x)", 1, 1, "", make_unary<Op::kRound>},
    {"isnan", "isnan(x)", 1, 1, "", make_unary<Op::kIsNan>},
    {"isfinite", "isfinite(x)", 1, 1, "", make_unary<Op::kIsFinite>},
    {"exp", "exp(x)", 1, 1, "", make_unary<Op::kExp>},
    {"exp2", "exp2(x)", 1, 1, "", make_unary<Op::kExp2>},
    {"expm1", "expm1(x)", 1, 1, "", make_unary<Op::kExpm1>},
    {"log", "log(x)", 1, 1, "", make_unary<Op::kLog>},
    {"log2", "log2(x)", 1, 1, "", make_unary<Op::kLog2>},
    {"log1p", "log1p(x)", 1, 1, "", make_unary<Op::kLog1p>},
    {"sqrt", "sqrt(x)", 1, 1, "", make_unary<Op::kSqrt>},
    {"rsqrt", "rsqrt(x)", 1, 1, "", make_unary<Op::kRsqrt>},
    {"tanh", "tanh(x)", 1, 1, "", make_unary<Op::kTanh>},
    {"erf", "erf(x)", 1, 1, "", make_unary<Op::kErf>},
    {"sin", "sin(x)", 1, 1, "", make_unary<Op::kSin>},
    {"cos", "cos(x)", 1, 1, "", make_unary<Op::kCos>},
    {"square", "square(x)", 1, 1, "", make_square},
    {"relu", "relu(x)", 1, 1, "", make_relu},
    {"sigmoid", "sigmoid(x)", 1, 1, "", make_sigmoid},
    {"silu", "silu(x)", 1, 1, "", make_silu},
    {"gelu", "gelu(x)", 1, 1, "", make_gelu},
    {"gelu_tanh", "gelu_tanh(x)", 1, 1, "", make_gelu_tanh},
    {"softplus", "softplus(x)", 1, 1, "", make_softplus},
    {"minimum", "minimum(a, b)", 2, 2, "", make_binary<Op::kMinimum>},
    {"maximum", "maximum(a, b)", 2, 2, "", make_binary<Op::kMaximum>},
    {"pow", "pow(a, b)", 2, 2, "", make_binary<Op::kPower>},
    {"matmul", "matmul(a, b)", 2, 2, "", make_binary<Op::kMatmul>},
    {"clamp", "clamp(x, low, high)", 3, 3, "", make_clamp},
    {"where", "where(condition, a, b)", 3, 3, "", make_where},
    {"cast", "cast(x, dtype)", 1, 2, "dtype", make_cast},
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
    {"var", "var(x, axis, keepdims=false)", 1, 2, kReduction, make_var},
    {"cumsum", "cumsum(x, axis=-1)", 1, 2, "axis", make_cumsum},
    {"softmax", "softmax(x, axis=-1)", 1, 2, "axis", make_softmax},
    {"log_softmax", "log_softmax(x, axis=-1)", 1, 2, "axis", make_log_softmax},
    {"logsumexp", "logsumexp(x, axis=-1, keepdims=false)", 1, 2, kReduction, make_logsumexp},
    {"transpose", "transpose(x)", 1, 1, "", make_transpose},
    {"permute", "permute(x, [axes])", 1, 2, "axes", make_permute},
    {"reshape", "reshape(x, [sizes])", 1, 2, "shape", make_reshape},
    {"broadcast", "broadcast(x, [sizes])", 1, 2, "shape", make_broadcast},
    {"concat", "concat(a, b, …, axis=-1)", 1, 64, "axis", make_concat},
    {"take", "take(x, index, axis=0)", 2, 3, "axis", make_take},
    {"arange", "arange(start, stop)", 1, 2, "", make_arange},
};

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t space = words.find(' ');
    if (words.substr(0, space) == word) return true;
    words = space == std::string_view::npos ? std::string_view() : words.substr(space + 1);
  }
  return false;
}

}  // namespace

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const Function& function : kFunctions) names.emplace_back(function.name);
  return names;
}

Result<NodeId> call_function(std::string_view name, const std::vector<Argument>& arguments,
                             GraphBuilder& builder, ExpressionParser& parser) {
  for (const Function& function : kFunctions) {
    if (function.name != name) continue;
    std::size_t positional = 0;
    std::vector<std::string_view> seen;
    for (const Argument& argument : arguments) {
      if (argument.keyword.empty()) {
        ++positional;
        if (!seen.empty())
          return fail(parser.error(argument.token, "an argument by position follows one by name; reorder"));
      } else if (!has_word(function.keywords, argument.keyword)) {
        return fail(parser.error(argument.token, fmt::format("{} has no argument '{}': {}", name,
                                                             argument.keyword, function.signature)));
      } else if (std::find(seen.begin(), seen.end(), argument.keyword) != seen.end()) {
        return fail(
            parser.error(argument.token, fmt::format("argument '{}' is given twice", argument.keyword)));
      } else {
        seen.push_back(argument.keyword);
      }
    }
    if (positional < function.least || positional > function.most) {
      auto failed =
          fail(ErrorCode::kInvalid, "{} takes {}, not {} arguments", name, function.signature, positional);
      if ((name == "max" || name == "min") && positional > 2)
        failed.value().notes.push_back(fmt::format("{}imum(a, b) takes the {} of two tensors", name, name));
      return failed;
    }
    Call call(arguments, builder, parser);
    return function.make(call);
  }
  return fail(ErrorCode::kNotFound, "no function '{}'", name);
}

}  // namespace kw::problem
