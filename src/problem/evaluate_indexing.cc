// Evaluates the operators that follow an index, an order or a line, and random words: graph_indexing.cc makes them.
#include "base/check.h"
#include "problem/philox.h"

namespace kw::problem {

Status evaluate_along(const Node& node, const std::vector<Array>& operands, double* out, std::int64_t count,
                      bool single, int threads) {
  const std::int64_t axis = node.axes.empty() ? 0 : node.axes[0];
  const Array& x = operands[0];
  switch (node.op) {
    case Op::kTake: return take(x, operands[1], axis, out, threads);
    case Op::kGather: return gather(x, operands[1], axis, out, threads);
    case Op::kScatter:
    case Op::kScatterAdd:
    case Op::kScatterMax:
    case Op::kScatterMin:
      return scatter(node.op, x, operands[1], operands[2], axis, out, single, false, threads);
    case Op::kSort:
    case Op::kArgsort: sort(x, axis, node.reverse, node.op == Op::kArgsort, out, threads); return {};
    case Op::kScan:
      recurrence(x, operands[1], operands.size() > 2 ? operands[2].data : nullptr, axis, node.reverse, out, single,
                 false, threads);
      return {};
    case Op::kCumsum:
    case Op::kCumprod:
    case Op::kCummax:
    case Op::kCummin: scan(node.op, x, axis, node.reverse, out, single, false, threads); return {};
    case Op::kPhilox: return philox(x, operands[1], operands[2], out, count / 4, threads);
    case Op::kPhiloxBlocks: return philox_blocks(x, operands[1], out, count / 4, threads);
    case Op::kUniform: return uniform(x, out, count, threads);
    default: KW_CHECK(!"an operator along an axis");
  }
  return {};
}

}  // namespace kw::problem
