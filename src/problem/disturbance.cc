#include "problem/disturbance.h"

#include <cmath>

#include "base/check.h"
#include "problem/lines.h"
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

// The signs are those of the whole value's elements, also where the result is a part of it.
template <typename Bound>
void push(NodeId id, const NodeShapes& plan, Buffer& result, const DisturbanceRule& rule, const Bound& bound) {
  const std::uint64_t own = mix(rule.seed ^ (static_cast<std::uint64_t>(id) << 40));
  const auto run = [&](std::int64_t begin, std::int64_t end, std::int64_t in_whole) {
    std::uint64_t signs = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t whole = i + in_whole;
      if (i == begin || whole % 64 == 0) signs = mix(own ^ static_cast<std::uint64_t>(whole / 64));
      double& value = result[static_cast<std::size_t>(i)];
      const double b = bound(i, value);
      if (std::isfinite(value) && std::isfinite(b)) value += ((signs >> (whole % 64)) & 1) != 0 ? b : -b;
    }
  };
  const auto at = static_cast<std::size_t>(id);
  if (plan.wholes[at].empty())
    for_pieces(static_cast<std::int64_t>(result.size()), kPiece, rule.threads,
               [&](std::int64_t begin, std::int64_t end) { run(begin, end, 0); });
  else
    for_runs_of(plan.shapes[at], plan.wholes[at], plan.firsts[at], [&](std::int64_t here, std::int64_t there, std::int64_t length) {
      run(here, here + length, there - here);
    });
}

// Pushes by 2^-24 n |v|, n the number of factors so far.
void push_products(const Node& node, NodeId id, const Array& a, const NodeShapes& plan, Buffer& result, const DisturbanceRule& rule) {
  const Extent extent = extent_along(a.shape, node.axes[0]);
  push(id, plan, result, rule, [&](std::int64_t i, double v) {
    const std::int64_t at = i / extent.inner % extent.length;
    return rule.unit * static_cast<double>(node.reverse ? extent.length - at : at + 1) * std::abs(v);
  });
}

// The updates that each element takes, of any order: one chain.
void push_scatter(const Node& node, NodeId id, const std::vector<Array>& operands, const NodeShapes& plan,
                  Buffer& result, const DisturbanceRule& rule) {
  const auto run = [&](const Array& a, const Array& updates) {
    Buffer sums(result.size());
    const Status done = scatter(Op::kScatterAdd, a, operands[1], updates, node.axes[0], sums.data(), false, true,
                                rule.threads);
    KW_CHECK(done.has_value());  // it went well when the node was computed
    return sums;
  };
  const Buffer magnitude = run(operands[0], operands[2]);
  std::size_t updates = 1;
  for (std::int64_t size : operands[2].shape) updates *= static_cast<std::size_t>(size);
  const Buffer nothing(result.size()), ones(updates, 1);
  const Buffer terms = run({nothing.data(), operands[0].shape}, {ones.data(), operands[2].shape});
  push(id, plan, result, rule, [&](std::int64_t i, double) {
    const auto at = static_cast<std::size_t>(i);
    return terms[at] == 0 ? 0 : rule.unit * (1 + std::sqrt(terms[at]) / 32) * magnitude[at];
  });
}

void push_reduction(const Node& node, NodeId id, const std::vector<Array>& operands, const NodeShapes& plan,
                    Buffer& result, const DisturbanceRule& rule) {
  if (node.op == Op::kCumprod) return push_products(node, id, operands[0], plan, result, rule);
  if (node.op == Op::kScatterAdd) return push_scatter(node, id, operands, plan, result, rule);
  const auto index = static_cast<std::size_t>(id);
  const tensor::Shape& shape = plan.shapes[index];
  const double length = plan.lengths[index];
  if (node.op == Op::kProd)
    return push(id, plan, result, rule, [&](std::int64_t, double v) { return rule.unit * length * std::abs(v); });
  Buffer magnitude(result.size());
  if (node.op == Op::kMatmul)
    matmul(operands[0], operands[1], magnitude.data(), shape, true, true, rule.threads);
  else if (node.op == Op::kConv || node.op == Op::kConvTranspose)
    convolve(node.op, operands[0], operands[1], plan.windows[index], magnitude.data(), shape, true, true, rule.threads);
  else if (node.op == Op::kAvgPool)
    pool(node, operands[0], plan.windows[index], magnitude.data(), shape, false, true, rule.threads);
  else if (node.op == Op::kCumsum)
    scan(node.op, operands[0], node.axes[0], node.reverse, magnitude.data(), false, true, rule.threads);
  else if (node.op == Op::kScan)
    recurrence(operands[0], operands[1], operands.size() > 2 ? operands[2].data : nullptr, node.axes[0], node.reverse,
               magnitude.data(), false, true, rule.threads);
  else
    reduce(node.op, operands[0], node.axes, magnitude.data(), false, true, rule.threads);
  // A matmul, a convolution or a scan may run as one chain of n additions, a sum as sqrt(n) chains of sqrt(n).
  const bool chain = node.op == Op::kMatmul || node.op == Op::kConv || node.op == Op::kConvTranspose ||
                     node.op == Op::kCumsum || node.op == Op::kScan;
  const double scale = rule.unit * (1 + (chain ? std::sqrt(length) / 32 : std::sqrt(std::sqrt(length)) / 4));
  push(id, plan, result, rule,
       [&](std::int64_t i, double) { return scale * magnitude[static_cast<std::size_t>(i)]; });
}

// Whatever it computes in: two approximate operations, relative to the value and to the size of its neighbours, out of
// which it may have come by cancellation.
void push_opaque(NodeId id, const NodeShapes& plan, Buffer& result, const DisturbanceRule& rule) {
  double squares = 0, finite = 0;
  for (const double value : result)
    if (std::isfinite(value)) {
      squares += value * value;
      ++finite;
    }
  const double rms = finite > 0 ? std::sqrt(squares / finite) : 0;
  push(id, plan, result, rule, [&](std::int64_t, double v) { return 8 * rule.unit * (std::abs(v) + rms); });
}

}  // namespace

void disturb(const Node& node, NodeId id, const std::vector<Array>& operands, const NodeShapes& plan, Buffer& result,
             const DisturbanceRule& rule) {
  if (node.kind != Kind::kReal) return;
  const double unit = rule.unit, approximate = 4 * rule.unit;
  const auto relative = [&](double bound) {
    push(id, plan, result, rule, [bound](std::int64_t, double v) { return bound * std::abs(v); });
  };
  if (node.op == Op::kStore) {
    const double rounding = tensor::unit_roundoff(*node.dtype), least = 0.5 * tensor::ulp_at(*node.dtype, 0);
    return push(id, plan, result, rule,
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
    case OpGroup::kOpaque: return push_opaque(id, plan, result, rule);
    case OpGroup::kApproximate: break;
  }
  const double* x = operands[0].data;
  if (node.op == Op::kExp || node.op == Op::kExp2 || node.op == Op::kExpm1) {
    // The argument is scaled and rounded before ex2.approx.
    return push(id, plan, result, rule, [&](std::int64_t i, double v) {
      return (approximate + unit * std::abs(x[i])) * std::abs(v);
    });
  }
  if (node.op == Op::kSinh || node.op == Op::kCosh)  // halves of exp(x) and exp(-x), which may cancel
    return push(id, plan, result, rule, [&](std::int64_t i, double) {
      return (approximate + unit * std::abs(x[i])) * std::cosh(x[i]);
    });
  if (node.op == Op::kAsinh || node.op == Op::kAcosh || node.op == Op::kAtanh || node.op == Op::kLgamma)  // logarithms
    return push(id, plan, result, rule, [&](std::int64_t, double v) { return approximate * std::max(1.0, std::abs(v)); });
  if (node.op == Op::kTan)  // sin.approx / cos.approx
    return push(id, plan, result, rule, [&](std::int64_t, double v) {
      return 2 * approximate * std::sqrt(1 + v * v) * (1 + std::abs(v));
    });
  if (node.op == Op::kLog || node.op == Op::kLog2 || node.op == Op::kLog10)  // lg2.approx: absolute near 1
    return push(id, plan, result, rule, [&](std::int64_t i, double v) {
      return x[i] > 0.5 && x[i] < 2 ? approximate : approximate * std::abs(v);
    });
  if (node.op == Op::kSin || node.op == Op::kCos)
    return push(id, plan, result, rule, [&](std::int64_t, double) { return 2 * approximate; });
  if (node.op == Op::kPower)  // exp2(y log2 x): |log2 result| scales the error of the exponent
    return push(id, plan, result, rule, [&](std::int64_t, double v) {
      return v == 0 ? 0 : approximate * (1 + std::abs(std::log2(std::abs(v)))) * std::abs(v);
    });
  relative(approximate);
}

}  // namespace kw::problem
