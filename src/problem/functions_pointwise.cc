// Functions of elements: arithmetic, casts, and the matrix product that has an operator too.
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

Result<NodeId> make_square(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  return call.apply(Op::kMultiply, x, x);
}

Result<NodeId> make_clamp(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId low, call.tensor(1));
  KW_TRY(const NodeId high, call.tensor(2));
  return call.clamp(x, low, high);
}

Result<NodeId> make_where(Call& call) {
  KW_TRY(const NodeId condition, call.tensor(0));
  KW_TRY(const NodeId a, call.tensor(1));
  KW_TRY(const NodeId b, call.tensor(2));
  return call.builder.where(condition, a, b);
}

constexpr std::pair<std::string_view, tensor::Rounding> kRoundings[] = {
    {"even", tensor::Rounding::kNearestEven}, {"away", tensor::Rounding::kNearestAway},
    {"zero", tensor::Rounding::kTowardZero},  {"up", tensor::Rounding::kUp},
    {"down", tensor::Rounding::kDown},
};

Result<NodeId> make_cast(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  const Argument* dtype = call.find(1, "dtype");
  if (dtype == nullptr || !dtype->dtype)
    return fail(ErrorCode::kInvalid,
                "the second argument of cast is a dtype: f32, f16, bf16, e4m3, i32, bool …");
  KW_TRY(const std::string_view word, call.word("rounding", ""));
  std::optional<tensor::Rounding> rounding;
  for (const auto& [name, mode] : kRoundings)
    if (word == name) rounding = mode;
  if (!rounding && !word.empty())
    return fail(ErrorCode::kInvalid, "no rounding '{}'; it is even, away (ties away from zero), zero, up or down",
                word);
  KW_TRY(const bool saturate, call.flag("saturate"));
  KW_TRY(const auto bits, call.optional_tensor(call.positional(), "bits"));
  return call.builder.cast(x, *dtype->dtype, rounding, saturate, bits);
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
    {"tan", "tan(x)", 1, 1, "", make_unary<Op::kTan>},
    {"asin", "asin(x)", 1, 1, "", make_unary<Op::kAsin>},
    {"acos", "acos(x)", 1, 1, "", make_unary<Op::kAcos>},
    {"atan", "atan(x)", 1, 1, "", make_unary<Op::kAtan>},
    {"sinh", "sinh(x)", 1, 1, "", make_unary<Op::kSinh>},
    {"cosh", "cosh(x)", 1, 1, "", make_unary<Op::kCosh>},
    {"asinh", "asinh(x)", 1, 1, "", make_unary<Op::kAsinh>},
    {"acosh", "acosh(x)", 1, 1, "", make_unary<Op::kAcosh>},
    {"atanh", "atanh(x)", 1, 1, "", make_unary<Op::kAtanh>},
    {"erfc", "erfc(x)", 1, 1, "", make_unary<Op::kErfc>},
    {"log10", "log10(x)", 1, 1, "", make_unary<Op::kLog10>},
    {"lgamma", "lgamma(x)", 1, 1, "", make_unary<Op::kLgamma>},
    {"cbrt", "cbrt(x)", 1, 1, "", make_unary<Op::kCbrt>},
    {"square", "square(x)", 1, 1, "", make_square},
    {"minimum", "minimum(a, b)", 2, 2, "", make_binary<Op::kMinimum>},
    {"maximum", "maximum(a, b)", 2, 2, "", make_binary<Op::kMaximum>},
    {"pow", "pow(a, b)", 2, 2, "", make_binary<Op::kPower>},
    {"atan2", "atan2(y, x)", 2, 2, "", make_binary<Op::kAtan2>},
    {"hypot", "hypot(a, b)", 2, 2, "", make_binary<Op::kHypot>},
    {"matmul", "matmul(a, b)", 2, 2, "", make_binary<Op::kMatmul>},
    {"clamp", "clamp(x, low, high)", 3, 3, "", make_clamp},
    {"where", "where(condition, a, b)", 3, 3, "", make_where},
    {"cast", "cast(x, dtype, rounding=\"even\", saturate=false, bits)", 1, 2, "dtype rounding saturate bits",
     make_cast},
};

}  // namespace

std::span<const Function> pointwise_functions() { return kFunctions; }

}  // namespace kw::problem
