// Functions of elements: arithmetic, activations, casts, and the matrix product that has an operator too.
#include <cmath>
#include <numbers>

#include "problem/function.h"

namespace kw::problem {
namespace {

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

Result<NodeId> sigmoid(Call& call, NodeId x) {  // 1 / (1 + exp(-x))
  KW_TRY(const NodeId negative, call.apply(Op::kNegate, x));
  KW_TRY(const NodeId e, call.apply(Op::kExp, negative));
  KW_TRY(const NodeId one_more, call.apply(Op::kAdd, Number{1}, e));
  return call.apply(Op::kDivide, Number{1}, one_more);
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
};

}  // namespace

std::span<const Function> pointwise_functions() { return kFunctions; }

}  // namespace kw::problem
