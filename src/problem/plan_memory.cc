#include "problem/plan_memory.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kw::problem {
namespace {

tl::unexpected<Error> placed(const Problem& problem, const Node& node, ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.span = node.span;
  error.source_line = std::string(line_of(problem.text, node.span.line));
  return fail(std::move(error));
}

// What only numbers can tell.
Status check_node(const Problem& problem, const Node& node, const NodeShapes& known, const AxisValues& axes,
                  const tensor::Shape& shape, std::int64_t count) {
  if (node.op == Op::kReshape) {
    const auto before = known.counts[static_cast<std::size_t>(node.operands[0])];
    if (before != count)
      return placed(problem, node, ErrorCode::kInvalid,
                    fmt::format("reshape to {}: {} elements become {}; constrain the axes so that they agree",
                                tensor::shape_text(shape), before, count));
  }
  if (node.op == Op::kSlice) {
    KW_TRY(const std::int64_t start, node.start.evaluate(axes));
    KW_TRY(const std::int64_t stop, node.stop.evaluate(axes));
    const auto size =
        known.shapes[static_cast<std::size_t>(node.operands[0])][static_cast<std::size_t>(node.axes[0])];
    if (start < 0 || start > stop || stop > size)
      return placed(problem, node, ErrorCode::kInvalid,
                    fmt::format("slice {}:{} of an axis of size {}; constrain the axes so that it fits",
                                start, stop, size));
  }
  // any of nothing is false and all of nothing true; of no numbers none is the greatest.
  const bool needs_elements =
      node.kind != Kind::kBoolean && (node.op == Op::kReduceMax || node.op == Op::kReduceMin ||
                                      node.op == Op::kArgmax || node.op == Op::kArgmin);
  if (needs_elements && count > 0 && known.counts[static_cast<std::size_t>(node.operands[0])] == 0)
    return placed(problem, node, ErrorCode::kInvalid,
                  fmt::format("{} of no elements; constrain the axis to be at least 1", op_name(node.op)));
  return {};
}

// What only numbers can tell of the groups of a convolution.
Status check_groups(const Problem& problem, const Node& node, const NodeShapes& known, const AxisValues& axes) {
  const auto& x = known.shapes[static_cast<std::size_t>(node.operands[0])];
  const auto& w = known.shapes[static_cast<std::size_t>(node.operands[1])];
  KW_TRY(const std::int64_t groups, node.groups.evaluate(axes));
  const bool transposed = node.op == Op::kConvTranspose;
  const bool fits = groups >= 1 && w[1] >= 1 && x[1] % groups == 0 && w[0] % groups == 0 &&
                    (transposed ? w[0] : w[1] * groups) == x[1];
  if (fits) return {};
  return placed(problem, node, ErrorCode::kInvalid,
                fmt::format("{} of {} channels with w {} in {} groups; constrain the axes so that they agree",
                            op_name(node.op), x[1], tensor::shape_text(w), groups));
}

// The operand of a reduction whose elements are added up or picked from.
std::size_t reduced_operand(Op op) {
  return op == Op::kScatterAdd || op == Op::kScatterMax || op == Op::kScatterMin ? 2 : 0;
}

// Terms that one element of a reduction is made of.
double length_of(const Node& node, const NodeShapes& known, const tensor::Shape& made) {
  const OpGroup group = op_group(node.op);
  if (group != OpGroup::kReduce && group != OpGroup::kPick) return 1;
  const auto& shape = known.shapes[static_cast<std::size_t>(node.operands[reduced_operand(node.op)])];
  if (node.op == Op::kMatmul) return static_cast<double>(shape.back());
  double length = 1;
  if (node.op == Op::kConv || node.op == Op::kConvTranspose) {
    const auto& w = known.shapes[static_cast<std::size_t>(node.operands[1])];
    const bool transposed = node.op == Op::kConvTranspose;
    const std::int64_t groups = (transposed ? made[1] : shape[1]) / w[1];
    length = static_cast<double>(shape[1] / groups);
    for (const WindowNumbers& window : known.windows.back()) {
      // An output of a transposed convolution sees every step-th element of the kernel, or fewer when dilated.
      const std::int64_t apart = transposed ? window.step / std::gcd(window.step, window.dilation) : 1;
      length *= static_cast<double>((window.size + apart - 1) / apart);
    }
  } else if (node.op == Op::kAvgPool || node.op == Op::kMaxPool) {
    for (const WindowNumbers& window : known.windows.back()) length *= static_cast<double>(window.size);
  } else {
    for (std::int64_t axis : node.axes) length *= static_cast<double>(shape[static_cast<std::size_t>(axis)]);
  }
  return length;
}

void mark_live(const Problem& problem, NodeShapes& known, bool keep_names) {
  known.live.assign(problem.graph.nodes.size(), false);
  for (const TensorDecl& output : problem.outputs)
    if (output.node >= 0) known.live[static_cast<std::size_t>(output.node)] = true;
  if (keep_names)
    for (const NamedNode& name : problem.names) known.live[static_cast<std::size_t>(name.node)] = true;
  for (std::size_t i = known.live.size(); i-- > 0;)
    if (known.live[i])
      for (NodeId operand : problem.graph.nodes[i].operands)
        known.live[static_cast<std::size_t>(operand)] = true;
}

// Last readers of whole values. Those of a region are let go after its last node.
void plan_lifetimes(const Problem& problem, const std::vector<bool>& kept, NodeShapes& known) {
  const auto& nodes = problem.graph.nodes;
  std::vector<NodeId> last(nodes.size(), -1);
  for (const Region& region : known.regions)
    for (const NodeId id : region.nodes) {
      const NodeId reader = region.loops.empty() ? id : region.nodes.back();
      if (region.loaded.contains(id)) {
        if (nodes[static_cast<std::size_t>(id)].op != Op::kInput) last[static_cast<std::size_t>(id)] = reader;
        continue;
      }
      for (const NodeId operand : nodes[static_cast<std::size_t>(id)].operands)
        if (!region.loop_of.contains(operand)) last[static_cast<std::size_t>(operand)] = reader;
    }
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (last[i] >= 0 && !kept[i]) known.freed[static_cast<std::size_t>(last[i])].push_back(static_cast<NodeId>(i));
}

// What an operator needs beside operands and result: packed operands, moved axes, keys of a sort.
double scratch_of(const Node& node, const std::vector<double>& bytes) {
  double scratch = 0;
  for (const NodeId operand : node.operands)
    if (op_group(node.op) == OpGroup::kReduce || op_group(node.op) == OpGroup::kPick)
      scratch += bytes[static_cast<std::size_t>(operand)];
  return node.op == Op::kSort || node.op == Op::kArgsort ? 2 * scratch : scratch;  // a key and a place
}

// The values of one slice, the largest there is.
double peak_of_slice(const Problem& problem, const Region& region, std::vector<double> bytes) {
  double peak = 0, alive = 0;
  for (const NodeId id : region.nodes)
    for (const int loop : region.loop_of.at(id)) {
      if (loop < 0) continue;
      const Loop& l = region.loops[static_cast<std::size_t>(loop)];
      bytes[static_cast<std::size_t>(id)] *= static_cast<double>((l.units + l.parts - 1) / l.parts) / static_cast<double>(l.units);
    }
  for (const NodeId id : region.nodes) {
    alive += bytes[static_cast<std::size_t>(id)];
    const bool loaded = region.loaded.contains(id);
    peak = std::max(peak, alive + (loaded ? 0 : scratch_of(problem.graph.nodes[static_cast<std::size_t>(id)], bytes)));
    if (const auto freed = region.freed.find(id); freed != region.freed.end())
      for (const NodeId dead : freed->second) alive -= bytes[static_cast<std::size_t>(dead)];
  }
  return peak;
}

// A node's result and its operands are alive at once.
double peak_of(const Problem& problem, const NodeShapes& known, int threads) {
  const auto& nodes = problem.graph.nodes;
  std::vector<double> bytes;
  for (const std::int64_t count : known.counts) bytes.push_back(8.0 * static_cast<double>(count));
  double peak = 0, alive = 0;
  const auto let_go = [&](NodeId reader) {
    for (const NodeId dead : known.freed[static_cast<std::size_t>(reader)]) alive -= bytes[static_cast<std::size_t>(dead)];
  };
  for (const Region& region : known.regions) {
    if (!region.loops.empty()) {
      for (const NodeId id : region.stored) alive += bytes[static_cast<std::size_t>(id)];
      const auto in_flight = static_cast<double>(std::min<std::int64_t>(threads, region.slices()));
      peak = std::max(peak, alive + in_flight * peak_of_slice(problem, region, bytes));
      let_go(region.nodes.back());
      continue;
    }
    for (const NodeId id : region.nodes) {
      const Node& node = nodes[static_cast<std::size_t>(id)];
      double scratch = 0;
      if (node.op == Op::kPython) {
        // The first node of a call takes the values of all, which travel at two precisions, as bytes and as numbers.
        std::vector<NodeId> calls = problem.graph.same_call(id);
        std::erase_if(calls, [&](NodeId call) { return !known.live[static_cast<std::size_t>(call)]; });
        if (calls.front() == id) {
          for (const NodeId call : calls) {
            alive += bytes[static_cast<std::size_t>(call)];
            scratch += 4 * bytes[static_cast<std::size_t>(call)];
          }
          for (const NodeId operand : node.operands) scratch += bytes[static_cast<std::size_t>(operand)];
        }
      } else {
        alive += bytes[static_cast<std::size_t>(id)];
        scratch = scratch_of(node, bytes);
      }
      peak = std::max(peak, alive + scratch);
      let_go(id);
    }
  }
  return peak;
}

}  // namespace

Result<NodeShapes> node_shapes(const Problem& problem, const AxisValues& axes, bool keep_names, Slicing slicing) {
  const auto& nodes = problem.graph.nodes;
  NodeShapes known;
  mark_live(problem, known, keep_names);
  for (const TensorDecl& input : problem.inputs) known.live[static_cast<std::size_t>(input.node)] = true;
  known.freed.resize(nodes.size());
  known.firsts.resize(nodes.size());
  known.wholes.resize(nodes.size());
  for (const Node& node : nodes) {
    known.windows.emplace_back();
    if (!node.windows.empty()) {
      auto windows = window_numbers(node, known.shapes[static_cast<std::size_t>(node.operands[0])], axes);
      if (!windows) return placed(problem, node, windows.error().code, windows.error().message);
      known.windows.back() = std::move(*windows);
    }
    if (node.op == Op::kConv || node.op == Op::kConvTranspose)
      KW_TRY_VOID(check_groups(problem, node, known, axes));
    auto shape = concrete(node.shape, axes);
    if (!shape) return placed(problem, node, shape.error().code, shape.error().message);
    known.lengths.push_back(length_of(node, known, *shape));
    KW_TRY(const std::int64_t count, tensor::element_count(*shape));
    KW_TRY_VOID(check_node(problem, node, known, axes, *shape, count));
    double work = 0;
    if (known.live[known.shapes.size()]) {
      work = static_cast<double>(count);
      const OpGroup group = op_group(node.op);
      if (node.op == Op::kMatmul || node.op == Op::kConv || node.op == Op::kConvTranspose) {
        work *= 2 * known.lengths.back();
        known.matmul_operations += work;
      } else if (node.op == Op::kAvgPool || node.op == Op::kMaxPool) {
        work *= known.lengths.back();
      } else if (node.op == Op::kSort || node.op == Op::kArgsort) {
        work *= 1 + std::log2(1 + static_cast<double>((*shape)[static_cast<std::size_t>(node.axes[0])]));
      } else if (node.op == Op::kPhilox || node.op == Op::kPhiloxBlocks) {
        work *= 25;  // ten rounds of ten operations make four words
      } else if (group == OpGroup::kReduce || group == OpGroup::kPick) {
        const NodeId reduced = node.operands[reduced_operand(node.op)];
        work = static_cast<double>(known.counts[static_cast<std::size_t>(reduced)]) * (node.op == Op::kScan ? 2 : 1);
      } else if (group == OpGroup::kOpaque) {
        for (const NodeId operand : node.operands) work += static_cast<double>(known.counts[static_cast<std::size_t>(operand)]);
        work *= kOpaqueOperations;
      } else if (node.op == Op::kInput || node.op == Op::kReshape) {
        work = 0;
      }
      known.operations += work;
    }
    known.work.push_back(work);
    known.shapes.push_back(std::move(*shape));
    known.counts.push_back(count);
  }
  for (const auto* list : {&problem.outputs, &problem.pieces})
    for (const TensorDecl& output : *list) {
      if (output.node < 0) continue;  // still being parsed
      KW_TRY(const tensor::Shape declared, concrete(output.shape, axes));
      const auto& made = known.shapes[static_cast<std::size_t>(output.node)];
      if (declared != made)
        return placed(
            problem, nodes[static_cast<std::size_t>(output.node)], ErrorCode::kInvalid,
            fmt::format("{} '{}' is declared {} and computed {}; constrain the axes so that they agree",
                        list == &problem.pieces ? "piece" : "output", output.name, tensor::shape_text(declared),
                        tensor::shape_text(made)));
    }
  std::vector<bool> kept(nodes.size(), false);
  for (const TensorDecl& output : problem.outputs)
    if (output.node >= 0) kept[static_cast<std::size_t>(output.node)] = true;
  if (keep_names)
    for (const NamedNode& name : problem.names) kept[static_cast<std::size_t>(name.node)] = true;
  known.regions = make_regions(problem, known, kept, slicing.bytes);
  plan_lifetimes(problem, kept, known);
  known.peak_bytes = peak_of(problem, known, slicing.threads);
  return known;
}

}  // namespace kw::problem
