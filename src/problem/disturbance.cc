#include "problem/disturbance.h"

#include <cmath>

#include "tensor/error_metrics.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kPiece = 1 << 14;

std::uint64_t mix(std::uint64_t x) {  // splitmix64: Steele, Lea, Flood, OOPSLA 2014
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <typename Bound>
void push(NodeId id, Buffer& result, const DisturbanceRule& rule, const Bound& bound) {
  for_pieces(static_cast<std::int64_t>(result.size()), kPiece, rule.threads,
             [&](std::int64_t begin, std::int64_t end) {
               std::uint64_t signs = 0;
               for (std::int64_t i = begin; i < end; ++i) {  // kPiece is a multiple of 64
                 if (i % 64 == 0)
                   signs = mix(mix(rule.seed ^ (static_cast<std::uint64_t>(id) << 40)) ^
                               static_cast<std::uint64_t>(i / 64));
                 double& value = result[static_cast<std::size_t>(i)];
                 const double b = bound(i, value);
                 if (std::isfinite(value) && std::isfinite(b))
                   value += ((signs >> (i % 64)) & 1) != 0 ? b : -b;
               }
             });
}

void push_reduction(const Node& node, NodeId id, const std::vector<Array>& operands, const NodeShapes& plan,
                    Buffer& result, const DisturbanceRule& rule) {
  const auto index = static_cast<std::size_t>(id);
  const tensor::Shape& shape = plan.shapes[index];
  const double length = plan.lengths[index];
  if (node.op == Op::kProd)
    return push(id, result, rule, [&](std::int64_t, double v) { return rule.unit * length * std::abs(v); });
  Buffer magnitude(result.size());
  if (node.op == Op::kMatmul)
    matmul(operands[0], operands[1], magnitude.data(), shape, true, true, rule.threads);
  else if (node.op == Op::kConv || node.op == Op::kConvTranspose)
    convolve(node.op, operands[0], operands[1], plan.windows[index], magnitude.data(), shape, true, true, rule.threads);
  else if (node.op == Op::kAvgPool)
    pool(node, operands[0], plan.windows[index], magnitude.data(), shape, false, true, rule.threads);
  else if (node.op == Op::kCumsum)
    cumsum(operands[0], node.axes[0], magnitude.data(), false, true, rule.threads);
  else
    reduce(node.op, operands[0], node.axes, magnitude.data(), false, true, rule.threads);
  // A matmul, a convolution or a scan may run as one chain of n additions, a sum as sqrt(n) chains of sqrt(n).
  const bool chain = node.op == Op::kMatmul || node.op == Op::kConv || node.op == Op::kConvTranspose ||
                     node.op == Op::kCumsum;
  const double scale = rule.unit * (1 + (chain ? std::sqrt(length) / 32 : std::sqrt(std::sqrt(length)) / 4));
  push(id, result, rule,
       [&](std::int64_t i, double) { return scale * magnitude[static_cast<std::size_t>(i)]; });
}

}  // namespace

void disturb(const Node& node, NodeId id, const std::vector<Array>& operands, const NodeShapes& plan, Buffer& result,
             const DisturbanceRule& rule) {
  if (node.kind != Kind::kReal) return;
  const double unit = rule.unit, approximate = 4 * rule.unit;
  const auto relative = [&](double bound) {
    push(id, result, rule, [bound](std::int64_t, double v) { return bound * std::abs(v); });
  };
  if (node.op == Op::kStore) {
    const double rounding = tensor::unit_roundoff(*node.dtype), least = 0.5 * tensor::ulp_at(*node.dtype, 0);
    return push(id, result, rule,
                [&](std::int64_t, double v) { return std::max(rounding * std::abs(v), v == 0 ? 0 : least); });
  }
  switch (op_group(node.op)) {
    case OpGroup::kSource:
    case OpGroup::kMove:
    case OpGroup::kPick: return;
    case OpGroup::kReduce: return push_reduction(node, id, operands, plan, result, rule);
    case OpGroup::kRound:
      if (node.op != Op::kCast) relative(unit);  // a cast's operand is already disturbed
      return;
    case OpGroup::kApproximate: break;
  }
  const double* x = operands[0].data;
  if (node.op == Op::kExp || node.op == Op::kExp2 || node.op == Op::kExpm1) {
    // The argument is scaled and rounded before ex2.approx.
    return push(id, result, rule, [&](std::int64_t i, double v) {
      return (approximate + unit * std::abs(x[i])) * std::abs(v);
    });
  }
  if (node.op == Op::kSinh || node.op == Op::kCosh)  // halves of exp(x) and exp(-x), which may cancel
    return push(id, result, rule, [&](std::int64_t i, double) {
      return (approximate + unit * std::abs(x[i])) * std::cosh(x[i]);
    });
  if (node.op == Op::kAsinh || node.op == Op::kAcosh || node.op == Op::kAtanh || node.op == Op::kLgamma)  // logarithms
    return push(id, result, rule, [&](std::int64_t, double v) { return approximate * std::max(1.0, std::abs(v)); });
  if (node.op == Op::kTan)  // sin.approx / cos.approx
    return push(id, result, rule, [&](std::int64_t, double v) {
      return 2 * approximate * std::sqrt(1 + v * v) * (1 + std::abs(v));
    });
  if (node.op == Op::kLog || node.op == Op::kLog2 || node.op == Op::kLog10)  // lg2.approx: absolute near 1
    return push(id, result, rule, [&](std::int64_t i, double v) {
      return x[i] > 0.5 && x[i] < 2 ? approximate : approximate * std::abs(v);
    });
  if (node.op == Op::kSin || node.op == Op::kCos)
    return push(id, result, rule, [&](std::int64_t, double) { return 2 * approximate; });
  if (node.op == Op::kPower)  // exp2(y log2 x): |log2 result| scales the error of the exponent
    return push(id, result, rule, [&](std::int64_t, double v) {
      return v == 0 ? 0 : approximate * (1 + std::abs(std::log2(std::abs(v)))) * std::abs(v);
    });
  relative(approximate);
}

}  // namespace kw::problem
