#include "problem/interpreter.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "problem/graph_builder.h"
#include "problem/python_calls.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kPiece = 1 << 16;

bool same_bits(const Buffer& a, const Buffer& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// Operators whose result on whole doubles may be -0.
bool signs_zeros(Op op) {
  return op == Op::kNegate || op == Op::kMultiply || op == Op::kFloorDivide || op == Op::kRemainder || op == Op::kProd ||
         op == Op::kCumprod || op == Op::kScan;
}

}  // namespace

Interpreter::Interpreter(const Problem& problem, const Workload& workload, const std::vector<tensor::Tensor>& inputs,
                         const EvaluateOptions& options)
    : problem_(problem), axes_(workload.axes), inputs_(inputs), options_(options),
      threads_(threads_of(options)), arithmetic_(problem, options, threads_),
      single_(arithmetic_.single()) {}

Result<Evaluation> Interpreter::run(NodeShapes plan) {
  KW_TRY_VOID(compute_all(std::move(plan)));
  return collect();
}

Result<NodeValues> Interpreter::run_and_keep(NodeShapes plan) {
  keep_ = true;
  KW_TRY_VOID(compute_all(std::move(plan)));
  return std::move(values_);
}

Result<Evaluation> Interpreter::run_changed(NodeShapes plan, const NodeValues& before, const std::vector<NodeId>& changed) {
  before_ = &before;
  changed_.assign(plan.shapes.size(), false);
  for (const NodeId id : changed) changed_[static_cast<std::size_t>(id)] = true;
  KW_TRY_VOID(compute_all(std::move(plan)));
  return collect();
}

Status Interpreter::compute_all(NodeShapes plan) {
  plan_ = std::move(plan);
  const auto& nodes = problem_.graph.nodes;
  values_.resize(nodes.size());
  as_before_.assign(nodes.size(), false);
  for (const Region& region : plan_.regions) {
    KW_TRY_VOID(region.loops.empty() ? compute_whole(region) : compute_slices(region));
    if (!region.loops.empty()) let_go(region.nodes.back());
  }
  return {};
}

Status Interpreter::compute_whole(const Region& region) {
  const auto& nodes = problem_.graph.nodes;
  for (const NodeId id : region.nodes) {
    const auto i = static_cast<std::size_t>(id);
    const auto& operands = nodes[i].operands;
    as_before_[i] = before_ != nullptr && !changed_[i] &&
                    std::all_of(operands.begin(), operands.end(), [&](NodeId o) { return as_before_[static_cast<std::size_t>(o)]; });
    if (as_before_[i]) continue;
    KW_TRY_VOID(compute_placed(static_cast<NodeId>(i)));
    if (before_ != nullptr && same_bits(values_[i], (*before_)[i])) {
      as_before_[i] = true;
      values_[i] = Buffer();
    }
    if (!keep_) let_go(id);
  }
  return {};
}

void Interpreter::let_go(NodeId reader) {
  for (const NodeId dead : plan_.freed[static_cast<std::size_t>(reader)]) {
    Buffer& value = values_[static_cast<std::size_t>(dead)];
    if (region_ != nullptr) spare_.push_back(std::move(value));
    value = Buffer();
  }
}

// A node of the graph with the place of its error.
Status Interpreter::compute_placed(NodeId id) {
  const Node& node = problem_.graph.nodes[static_cast<std::size_t>(id)];
  if (Status done = compute(node, id); !done) {
    Error error = std::move(done).error();
    if (!error.span) error.span = node.span;  // a Python function names its own line
    error.span->file = problem_.file;
    error.source_line = std::string(line_of(problem_.text, error.span->line).substr(0, 400));
    return fail(std::move(error));
  }
  if (node.kind == Kind::kInteger && signs_zeros(node.op))  // integers have one zero: 1 / -i is inf there
    for (double& element : values_[static_cast<std::size_t>(id)]) element += 0.0;
  finish(node, id);
  return {};
}

const Buffer& Interpreter::value_of(NodeId id) const {
  const auto at = static_cast<std::size_t>(id);
  if (region_ != nullptr && !region_->loop_of.contains(id)) return whole_->value_of(id);
  return as_before_[at] ? (*before_)[at] : values_[at];
}

// Whether the last reader of a node may have its buffer.
bool Interpreter::may_take(NodeId id) const {
  return options_.precision != Precision::kDisturbed && !keep_ && !as_before_[static_cast<std::size_t>(id)];
}

// A buffer for the result; an operand's own when this is its last reader and the sizes agree.
Buffer Interpreter::result_buffer(const Node& node, NodeId id) {
  const auto count = static_cast<std::size_t>(plan_.counts[static_cast<std::size_t>(id)]);
  for (NodeId dead : plan_.freed[static_cast<std::size_t>(id)]) {
    const auto d = static_cast<std::size_t>(dead);
    const bool once = std::count(node.operands.begin(), node.operands.end(), dead) >= 1;
    if (once && may_take(dead) && plan_.shapes[d] == plan_.shapes[static_cast<std::size_t>(id)]) {
      reused_ = dead;
      return std::move(values_[d]);
    }
  }
  reused_ = -1;
  return new_buffer(count);
}

// Slices come with what those before them have let go.
Buffer Interpreter::new_buffer(std::size_t count) {
  auto best = spare_.end();
  for (auto it = spare_.begin(); it != spare_.end(); ++it)
    if (it->size() >= count && it->size() <= 2 * count && (best == spare_.end() || it->size() < best->size())) best = it;
  if (best == spare_.end()) return Buffer(count);
  Buffer found = std::move(*best);
  spare_.erase(best);
  found.resize(count);
  return found;
}

Status Interpreter::compute(const Node& node, NodeId id) {
  KW_TRY_VOID(seconds_left(options_));
  const auto& shape = plan_.shapes[static_cast<std::size_t>(id)];
  const std::int64_t count = plan_.counts[static_cast<std::size_t>(id)];
  const auto& sliding = plan_.windows[static_cast<std::size_t>(id)];
  Buffer& value = values_[static_cast<std::size_t>(id)];
  const auto operand = [&](std::size_t k) {
    Array a = array(node.operands[k]);
    if (node.operands[k] == reused_) a.data = value.data();
    return a;
  };
  switch (node.op) {
    case Op::kInput:
      value = new_buffer(static_cast<std::size_t>(count));
      for_pieces(count, kPiece, threads_, [&](std::int64_t begin, std::int64_t end) {
        inputs_[static_cast<std::size_t>(node.input)].read(begin, {value.data() + begin, static_cast<std::size_t>(end - begin)});
      });
      return {};
    case Op::kConstant: value = {node.value}; return {};
    case Op::kSize: {
      KW_TRY(const std::int64_t size, node.start.evaluate(axes_));
      value = {static_cast<double>(size)};
      return {};
    }
    case Op::kArange: {
      KW_TRY(const std::int64_t first, node.start.evaluate(axes_));
      const tensor::Shape& begin = plan_.firsts[static_cast<std::size_t>(id)];
      value = new_buffer(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i)
        value[static_cast<std::size_t>(i)] = static_cast<double>(first + (i + (begin.empty() ? 0 : begin[0])) * node.step);
      return {};
    }
    case Op::kReshape:
    case Op::kStore:
      if (const auto& freed = plan_.freed[static_cast<std::size_t>(id)];
          std::find(freed.begin(), freed.end(), node.operands[0]) != freed.end() && may_take(node.operands[0]))
        value = std::move(values_[static_cast<std::size_t>(node.operands[0])]);
      else {
        value = new_buffer(static_cast<std::size_t>(count));
        std::copy_n(operand(0).data, count, value.data());
      }
      return {};
    case Op::kBroadcast:
      value = new_buffer(static_cast<std::size_t>(count));
      copy_strided(operand(0).data, shape, broadcast_strides(operand(0).shape, shape), value.data(),
                   threads_);
      return {};
    case Op::kTranspose: {
      const Array a = operand(0);
      const auto own = row_major_strides(a.shape);
      std::vector<std::int64_t> strides;
      for (std::int64_t axis : node.axes) strides.push_back(own[static_cast<std::size_t>(axis)]);
      value = new_buffer(static_cast<std::size_t>(count));
      copy_strided(a.data, shape, strides, value.data(), threads_);
      return {};
    }
    case Op::kSlice: {
      const Array a = operand(0);
      auto strides = row_major_strides(a.shape);
      const auto axis = static_cast<std::size_t>(node.axes[0]);
      KW_TRY(const std::int64_t start, node.start.evaluate(axes_));
      value = new_buffer(static_cast<std::size_t>(count));
      const double* first = count > 0 ? a.data + start * strides[axis] : a.data;
      strides[axis] *= node.step;
      copy_strided(first, shape, strides, value.data(), threads_);
      return {};
    }
    case Op::kConcat: {
      std::vector<Array> parts;
      for (NodeId part : node.operands) parts.push_back(array(part));
      value = new_buffer(static_cast<std::size_t>(count));
      concat(parts, node.axes[0], value.data());
      return {};
    }
    case Op::kPad:
      value = new_buffer(static_cast<std::size_t>(count));
      pad(operand(0), *operand(1).data, node.axes, sliding, value.data(), shape, threads_);
      return {};
    case Op::kFlip:
      value = new_buffer(static_cast<std::size_t>(count));
      flip(operand(0), node.axes, value.data(), threads_);
      return {};
    case Op::kWindows:
      value = new_buffer(static_cast<std::size_t>(count));
      windows(operand(0), node.axes, sliding, value.data(), shape, threads_);
      return {};
    case Op::kConv:
    case Op::kConvTranspose:
      value = new_buffer(static_cast<std::size_t>(count));
      std::fill(value.begin(), value.end(), 0.0);  // outputs that see nothing are left alone
      convolve(node.op, operand(0), operand(1), sliding, value.data(), shape, single_, false, threads_);
      return {};
    case Op::kMaxPool:
    case Op::kAvgPool:
      value = new_buffer(static_cast<std::size_t>(count));
      pool(node, operand(0), sliding, value.data(), shape, single_, false, threads_);
      return {};
    case Op::kCast:
      value = result_buffer(node, id);
      if (node.operands.size() > 1)
        return round_by_chance(*node.dtype, node.saturate, operand(0), operand(1).data, value.data(), count,
                               threads_);
      round_to_dtype(*node.dtype, operand(0).data, value.data(), count, threads_, node.rounding, node.saturate);
      return {};
    case Op::kWhere:
      value = result_buffer(node, id);
      where(operand(0), operand(1), operand(2), value.data(), shape, threads_);
      return {};
    case Op::kMatmul:
      value = new_buffer(static_cast<std::size_t>(count));
      matmul(operand(0), operand(1), value.data(), shape, single_, false, threads_);
      return {};
    case Op::kTake:
    case Op::kGather:
    case Op::kScatter:
    case Op::kScatterAdd:
    case Op::kScatterMax:
    case Op::kScatterMin:
    case Op::kSort:
    case Op::kArgsort:
    case Op::kScan:
    case Op::kCumsum:
    case Op::kCumprod:
    case Op::kCummax:
    case Op::kCummin:
    case Op::kPhilox:
    case Op::kPhiloxBlocks:
    case Op::kUniform: {
      std::vector<Array> operands;
      for (NodeId given : node.operands) operands.push_back(array(given));
      value = new_buffer(static_cast<std::size_t>(count));
      return evaluate_along(node, operands, value.data(), count, single_, threads_);
    }
    case Op::kPython: return call_python(node, id);
    default: break;
  }
  const OpGroup group = op_group(node.op);
  if (group == OpGroup::kReduce || group == OpGroup::kPick) {
    value = new_buffer(static_cast<std::size_t>(count));
    reduce(node.op, operand(0), node.axes, value.data(), single_, false, threads_);
    return {};
  }
  value = result_buffer(node, id);
  if (node.operands.size() == 1)
    unary(node.op, operand(0).data, value.data(), count, threads_);
  else
    binary(node.op, operand(0), operand(1), value.data(), shape, threads_);
  return {};
}

// All outputs of the call that are needed, by its first node; the others find their values there.
Status Interpreter::call_python(const Node& node, NodeId id) {
  if (answered_.contains(id)) return {};
  const PythonSection& section = problem_.graph.python;
  PythonCall call{section, section.functions[static_cast<std::size_t>(node.function)], {}, {}};
  for (const NodeId operand : node.operands) {
    const Node& given = problem_.graph.nodes[static_cast<std::size_t>(operand)];
    call.operands.push_back({given.kind, given.op == Op::kSize || given.op == Op::kConstant, array(operand)});
  }
  std::vector<NodeId> nodes;
  for (const NodeId other : problem_.graph.same_call(id)) {
    const auto at = static_cast<std::size_t>(other);
    if (!plan_.live[at]) continue;
    nodes.push_back(other);
    call.results.push_back({problem_.graph.nodes[at].output, problem_.graph.nodes[at].kind, plan_.shapes[at]});
  }
  const PythonPrecision honest = arithmetic_.in_double() ? PythonPrecision::kDouble : PythonPrecision::kSingle;
  const bool plain = options_.precision == Precision::kHonest;
  // Where the operands are inputs the plain evaluation will ask for the same call.
  std::optional<PythonPrecision> also;
  if (options_.precision == Precision::kReference) also = honest;
  KW_TRY(const double left, seconds_left(options_));
  KW_TRY(auto values, options_.python->call(call, plain ? honest : PythonPrecision::kExact, also,
                                            {options_.memory_limit, std::min(left, options_.python_seconds)}));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    values_[static_cast<std::size_t>(nodes[i])] = std::move(values[i]);
    answered_.insert(nodes[i]);
  }
  return {};
}

void Interpreter::finish(const Node& node, NodeId id) {
  reused_ = -1;
  std::vector<Array> operands;
  for (NodeId operand : node.operands) operands.push_back(array(operand));
  arithmetic_.finish(node, id, operands, plan_, values_[static_cast<std::size_t>(id)]);
}

Result<Evaluation> Interpreter::collect() {
  Evaluation evaluation;
  // Two names may share a node: copy where it is needed again.
  const auto tensor_of = [&](NodeId id) {
    return tensor::Tensor::adopt(plan_.shapes[static_cast<std::size_t>(id)], value_of(id));
  };
  if (options_.keep_names)
    for (const NamedNode& name : problem_.names) {
      KW_TRY(tensor::Tensor value, tensor_of(name.node));
      evaluation.names.push_back({name.name, std::move(value)});
    }
  std::vector<NodeId> remaining;
  for (const TensorDecl& output : problem_.outputs) remaining.push_back(output.node);
  for (std::size_t i = 0; i < remaining.size(); ++i) {
    const NodeId id = remaining[i];
    const bool again = std::find(remaining.begin() + static_cast<std::ptrdiff_t>(i) + 1, remaining.end(),
                                 id) != remaining.end();
    if (again || as_before_[static_cast<std::size_t>(id)]) {
      KW_TRY(tensor::Tensor value, tensor_of(id));
      evaluation.outputs.push_back(std::move(value));
    } else {
      KW_TRY(tensor::Tensor value, tensor::Tensor::adopt(plan_.shapes[static_cast<std::size_t>(id)],
                                                         std::move(values_[static_cast<std::size_t>(id)])));
      evaluation.outputs.push_back(std::move(value));
    }
  }
  return evaluation;
}

}  // namespace kw::problem
