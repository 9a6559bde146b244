// Activations, composed of simpler operators so that each step has its own honest error.
#include <cmath>
#include <numbers>

#include "problem/function.h"

namespace kw::problem {
namespace {

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

Result<NodeId> softplus(Call& call, NodeId x) {  // max(x, 0) + log1p(exp(-|x|))
  KW_TRY(const NodeId positive, call.apply(Op::kMaximum, x, Number{0.0}));
  KW_TRY(const NodeId magnitude, call.apply(Op::kAbs, x));
  KW_TRY(const NodeId negative, call.apply(Op::kNegate, magnitude));
  KW_TRY(const NodeId e, call.apply(Op::kExp, negative));
  KW_TRY(const NodeId log, call.apply(Op::kLog1p, e));
  return call.apply(Op::kAdd, positive, log);
}

Result<NodeId> make_softplus(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  return softplus(call, x);
}

Result<NodeId> make_mish(Call& call) {  // x * tanh(softplus(x))
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId soft, softplus(call, x));
  KW_TRY(const NodeId gate, call.apply(Op::kTanh, soft));
  return call.apply(Op::kMultiply, x, gate);
}

Result<NodeId> make_relu6(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId low, call.builder.size(0));
  KW_TRY(const NodeId high, call.builder.size(6));
  return call.clamp(x, low, high);
}

Result<NodeId> make_hardtanh(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId low, call.tensor_or(1, "low", -1));
  KW_TRY(const NodeId high, call.tensor_or(2, "high", 1));
  return call.clamp(x, low, high);
}

Result<NodeId> hardsigmoid(Call& call, NodeId x) {  // clamp(x + 3, 0, 6) / 6
  KW_TRY(const NodeId raised, call.apply(Op::kAdd, x, Number{3}));
  KW_TRY(const NodeId low, call.builder.constant(0));
  KW_TRY(const NodeId high, call.builder.constant(6));
  KW_TRY(const NodeId clamped, call.clamp(raised, low, high));
  return call.apply(Op::kDivide, clamped, Number{6});
}

Result<NodeId> make_hardsigmoid(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  return hardsigmoid(call, x);
}

Result<NodeId> make_hardswish(Call& call) {  // x * hardsigmoid(x)
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId gate, hardsigmoid(call, x));
  return call.apply(Op::kMultiply, x, gate);
}

Result<NodeId> make_softsign(Call& call) {  // x / (1 + |x|)
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId magnitude, call.apply(Op::kAbs, x));
  KW_TRY(const NodeId below, call.apply(Op::kAdd, magnitude, Number{1}));
  return call.apply(Op::kDivide, x, below);
}

Result<NodeId> where_positive(Call& call, NodeId x, NodeId positive, NodeId otherwise) {
  KW_TRY(const NodeId condition, call.apply(Op::kGreater, x, Number{0.0}));
  return call.builder.where(condition, positive, otherwise);
}

Result<NodeId> make_leaky_relu(Call& call) {  // x > 0 ? x : slope * x
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId slope, call.tensor_or(1, "slope", 0.01));
  KW_TRY(const NodeId low, call.apply(Op::kMultiply, x, slope));
  return where_positive(call, x, x, low);
}

// alpha * (exp(x) - 1), by the exponential: near 0 its error is that of a sum around 1, as in kernels.
Result<NodeId> bent(Call& call, NodeId x, NodeId alpha) {
  KW_TRY(const NodeId e, call.apply(Op::kExp, x));
  KW_TRY(const NodeId low, call.apply(Op::kSubtract, e, Number{1}));
  return call.apply(Op::kMultiply, low, alpha);
}

Result<NodeId> make_elu(Call& call) {  // x > 0 ? x : alpha * (exp(x) - 1)
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId alpha, call.tensor_or(1, "alpha", 1));
  KW_TRY(const NodeId low, bent(call, x, alpha));
  return where_positive(call, x, x, low);
}

Result<NodeId> make_celu(Call& call) {  // x > 0 ? x : alpha * (exp(x / alpha) - 1)
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId alpha, call.tensor_or(1, "alpha", 1));
  KW_TRY(const NodeId scaled, call.apply(Op::kDivide, x, alpha));
  KW_TRY(const NodeId low, bent(call, scaled, alpha));
  return where_positive(call, x, x, low);
}

Result<NodeId> make_selu(Call& call) {  // Klambauer et al., Self-Normalizing Neural Networks, 2017
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId alpha, call.builder.constant(1.6732632423543772848170429916717));
  KW_TRY(const NodeId low, bent(call, x, alpha));
  KW_TRY(const NodeId chosen, where_positive(call, x, x, low));
  return call.apply(Op::kMultiply, chosen, Number{1.0507009873554804934193349852946});
}

constexpr Function kFunctions[] = {
    {"relu", "relu(x)", 1, 1, "", make_relu},
    {"sigmoid", "sigmoid(x)", 1, 1, "", make_sigmoid},
    {"silu", "silu(x)", 1, 1, "", make_silu},
    {"gelu", "gelu(x)", 1, 1, "", make_gelu},
    {"gelu_tanh", "gelu_tanh(x)", 1, 1, "", make_gelu_tanh},
    {"softplus", "softplus(x)", 1, 1, "", make_softplus},
    {"mish", "mish(x)", 1, 1, "", make_mish},
    {"relu6", "relu6(x)", 1, 1, "", make_relu6},
    {"hardtanh", "hardtanh(x, low=-1, high=1)", 1, 3, "low high", make_hardtanh},
    {"hardsigmoid", "hardsigmoid(x)", 1, 1, "", make_hardsigmoid},
    {"hardswish", "hardswish(x)", 1, 1, "", make_hardswish},
    {"softsign", "softsign(x)", 1, 1, "", make_softsign},
    {"leaky_relu", "leaky_relu(x, slope=0.01)", 1, 2, "slope", make_leaky_relu},
    {"elu", "elu(x, alpha=1)", 1, 2, "alpha", make_elu},
    {"celu", "celu(x, alpha=1)", 1, 2, "alpha", make_celu},
    {"selu", "selu(x)", 1, 1, "", make_selu},
};

}  // namespace

std::span<const Function> activation_functions() { return kFunctions; }

}  // namespace kw::problem
