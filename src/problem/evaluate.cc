#include "problem/evaluate.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <set>

#include "base/check.h"
#include "base/parallel.h"
#include "problem/disturbance.h"
#include "problem/graph_builder.h"
#include "problem/host_ops.h"
#include "problem/plan_memory.h"
#include "problem/python_calls.h"
#include "tensor/error_metrics.h"

namespace kw::problem {
namespace {

bool in_double(const Problem& problem) {
  return std::any_of(problem.outputs.begin(), problem.outputs.end(),
                     [](const TensorDecl& o) { return o.dtype == DType::kF64; });
}

// Mantissa bits of something computed in fewer bits than `dtype` has.
int bits_below(DType dtype) {
  const int bits = -std::ilogb(tensor::unit_roundoff(dtype)) - 1;
  return std::max(1, bits >= 23 ? 10 : bits - 3);
}

// Mantissa bits of the truncated-precision mutant of one output.
int truncated_bits(const Problem& problem, std::size_t output) {
  if (output >= problem.outputs.size() || kind_of(problem.outputs[output].dtype) != Kind::kReal) return 1;
  int bits = bits_below(problem.outputs[output].dtype);
  // What the problem lets a kernel keep in fewer bits is no mistake.
  for (const Node& node : problem.graph.nodes)
    if (node.op == Op::kStore) bits = std::min(bits, bits_below(*node.dtype));
  return bits;
}

// Operators whose result on whole doubles may be -0.
bool signs_zeros(Op op) {
  return op == Op::kNegate || op == Op::kMultiply || op == Op::kFloorDivide || op == Op::kRemainder || op == Op::kProd ||
         op == Op::kCumprod || op == Op::kScan;
}

class Interpreter {
 public:
  Interpreter(const Problem& problem, const Workload& workload, const std::vector<tensor::Tensor>& inputs,
              const EvaluateOptions& options)
      : problem_(problem), axes_(workload.axes), inputs_(inputs), options_(options) {
    threads_ = options.threads > 0 ? options.threads : available_cores();
    single_ = options.precision == Precision::kHonest && !in_double(problem);
    rule_.unit = in_double(problem) ? 0x1p-53 : 0x1p-24;
    rule_.seed = options.disturbance;
    rule_.threads = threads_;
    bits_ = truncated_bits(problem, options.truncated_output);
  }

  Result<Evaluation> run(NodeShapes plan) {
    plan_ = std::move(plan);
    const auto& nodes = problem_.graph.nodes;
    values_.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!plan_.live[i]) continue;
      if (Status done = compute(nodes[i], static_cast<NodeId>(i)); !done) {
        Error error = std::move(done).error();
        if (!error.span) error.span = nodes[i].span;  // a Python function names its own line
        error.span->file = problem_.file;
        error.source_line = std::string(line_of(problem_.text, error.span->line).substr(0, 400));
        return fail(std::move(error));
      }
      if (nodes[i].kind == Kind::kInteger && signs_zeros(nodes[i].op))  // integers have one zero: 1 / -i is inf there
        for (double& element : values_[i]) element += 0.0;
      finish(nodes[i], static_cast<NodeId>(i));
      for (NodeId dead : plan_.freed[i]) values_[static_cast<std::size_t>(dead)] = Buffer();
    }
    return collect();
  }

 private:
  Array array(NodeId id) const {
    return {values_[static_cast<std::size_t>(id)].data(), plan_.shapes[static_cast<std::size_t>(id)]};
  }

  // A buffer for the result; an operand's own when this is its last reader and the sizes agree.
  Buffer result_buffer(const Node& node, NodeId id) {
    const auto count = static_cast<std::size_t>(plan_.counts[static_cast<std::size_t>(id)]);
    if (options_.precision != Precision::kDisturbed)
      for (NodeId dead : plan_.freed[static_cast<std::size_t>(id)]) {
        const auto d = static_cast<std::size_t>(dead);
        const bool once = std::count(node.operands.begin(), node.operands.end(), dead) >= 1;
        if (once && plan_.shapes[d] == plan_.shapes[static_cast<std::size_t>(id)]) {
          reused_ = dead;
          return std::move(values_[d]);
        }
      }
    reused_ = -1;
    return Buffer(count);
  }

  Status compute(const Node& node, NodeId id) {
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
      case Op::kInput: value = inputs_[static_cast<std::size_t>(node.input)].to_doubles(); return {};
      case Op::kConstant: value = {node.value}; return {};
      case Op::kSize: {
        KW_TRY(const std::int64_t size, node.start.evaluate(axes_));
        value = {static_cast<double>(size)};
        return {};
      }
      case Op::kArange: {
        KW_TRY(const std::int64_t first, node.start.evaluate(axes_));
        value.resize(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i)
          value[static_cast<std::size_t>(i)] = static_cast<double>(first + i * node.step);
        return {};
      }
      case Op::kReshape:
      case Op::kStore:
        if (const auto& freed = plan_.freed[static_cast<std::size_t>(id)];
            std::find(freed.begin(), freed.end(), node.operands[0]) != freed.end() &&
            options_.precision != Precision::kDisturbed)
          value = std::move(values_[static_cast<std::size_t>(node.operands[0])]);
        else
          value = values_[static_cast<std::size_t>(node.operands[0])];
        return {};
      case Op::kBroadcast:
        value.resize(static_cast<std::size_t>(count));
        copy_strided(operand(0).data, shape, broadcast_strides(operand(0).shape, shape), value.data(),
                     threads_);
        return {};
      case Op::kTranspose: {
        const Array a = operand(0);
        const auto own = row_major_strides(a.shape);
        std::vector<std::int64_t> strides;
        for (std::int64_t axis : node.axes) strides.push_back(own[static_cast<std::size_t>(axis)]);
        value.resize(static_cast<std::size_t>(count));
        copy_strided(a.data, shape, strides, value.data(), threads_);
        return {};
      }
      case Op::kSlice: {
        const Array a = operand(0);
        auto strides = row_major_strides(a.shape);
        const auto axis = static_cast<std::size_t>(node.axes[0]);
        KW_TRY(const std::int64_t start, node.start.evaluate(axes_));
        value.resize(static_cast<std::size_t>(count));
        const double* first = count > 0 ? a.data + start * strides[axis] : a.data;
        strides[axis] *= node.step;
        copy_strided(first, shape, strides, value.data(), threads_);
        return {};
      }
      case Op::kConcat: {
        std::vector<Array> parts;
        for (NodeId part : node.operands) parts.push_back(array(part));
        value.resize(static_cast<std::size_t>(count));
        concat(parts, node.axes[0], value.data());
        return {};
      }
      case Op::kPad:
        value.resize(static_cast<std::size_t>(count));
        pad(operand(0), *operand(1).data, node.axes, sliding, value.data(), shape, threads_);
        return {};
      case Op::kFlip:
        value.resize(static_cast<std::size_t>(count));
        flip(operand(0), node.axes, value.data(), threads_);
        return {};
      case Op::kWindows:
        value.resize(static_cast<std::size_t>(count));
        windows(operand(0), node.axes, sliding, value.data(), shape, threads_);
        return {};
      case Op::kConv:
      case Op::kConvTranspose:
        value.resize(static_cast<std::size_t>(count));
        convolve(node.op, operand(0), operand(1), sliding, value.data(), shape, single_, false, threads_);
        return {};
      case Op::kMaxPool:
      case Op::kAvgPool:
        value.resize(static_cast<std::size_t>(count));
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
        value.resize(static_cast<std::size_t>(count));
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
        value.resize(static_cast<std::size_t>(count));
        return evaluate_along(node, operands, value.data(), count, single_, threads_);
      }
      case Op::kPython: return call_python(node, id);
      default: break;
    }
    const OpGroup group = op_group(node.op);
    if (group == OpGroup::kReduce || group == OpGroup::kPick) {
      value.resize(static_cast<std::size_t>(count));
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
  Status call_python(const Node& node, NodeId id) {
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
    const PythonPrecision honest = in_double(problem_) ? PythonPrecision::kDouble : PythonPrecision::kSingle;
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

  // What the precision asked for does to a finished node.
  void finish(const Node& node, NodeId id) {
    Buffer& value = values_[static_cast<std::size_t>(id)];
    const auto count = static_cast<std::int64_t>(value.size());
    reused_ = -1;
    const OpGroup group = op_group(node.op);
    switch (options_.precision) {
      case Precision::kReference: return;
      case Precision::kHonest: {
        const bool computed =
            group == OpGroup::kRound || group == OpGroup::kApproximate || group == OpGroup::kReduce;
        if (node.op == Op::kStore)
          round_to_dtype(*node.dtype, value.data(), value.data(), count, threads_);
        else if (single_ && node.kind == Kind::kReal && (computed || node.op == Op::kConstant))
          round_to_dtype(DType::kF32, value.data(), value.data(), count, threads_);
        return;
      }
      case Precision::kDisturbed: {
        std::vector<Array> operands;
        for (NodeId operand : node.operands) operands.push_back(array(operand));
        disturb(node, id, operands, plan_, value, rule_);
        return;
      }
      case Precision::kTruncated:
        if (node.kind == Kind::kReal) round_to_bits(bits_, value.data(), count, threads_);
        return;
    }
  }

  Result<Evaluation> collect() {
    Evaluation evaluation;
    // Two names may share a node: copy where it is needed again.
    const auto tensor_of = [&](NodeId id) {
      return tensor::Tensor::adopt(plan_.shapes[static_cast<std::size_t>(id)],
                                   values_[static_cast<std::size_t>(id)]);
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
      if (again) {
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

  const Problem& problem_;
  const AxisValues& axes_;
  const std::vector<tensor::Tensor>& inputs_;
  const EvaluateOptions& options_;
  NodeShapes plan_;
  std::vector<Buffer> values_;
  std::set<NodeId> answered_;  // python nodes that have their values
  DisturbanceRule rule_;
  NodeId reused_ = -1;  // the operand whose buffer the node being computed took
  int threads_ = 1;
  int bits_ = 10;
  bool single_ = false;
};

Status check_inputs(const Problem& problem, const Workload& workload,
                    const std::vector<tensor::Tensor>& inputs) {
  if (inputs.size() != problem.inputs.size())
    return fail(ErrorCode::kInvalid, "'{}' takes {} inputs, {} were given", problem.name,
                problem.inputs.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    KW_TRY(const tensor::Shape shape, shape_of(problem.inputs[i], workload));
    if (inputs[i].dtype() != problem.inputs[i].dtype || inputs[i].shape() != shape)
      return fail(ErrorCode::kInvalid, "input '{}' of workload '{}' is {}{}, but {} was given",
                  problem.inputs[i].name, workload.name, tensor::name_of(problem.inputs[i].dtype),
                  tensor::shape_text(shape), inputs[i].description());
  }
  return {};
}

}  // namespace

Result<double> seconds_left(const EvaluateOptions& options) {
  const std::chrono::duration<double> left = options.deadline - std::chrono::steady_clock::now();
  if (left.count() <= 0) return fail(ErrorCode::kLimit, "the time for the reference is over");
  return left.count();
}

std::shared_ptr<PythonCalls> make_python_calls() { return std::make_shared<PythonCalls>(); }

Result<Evaluation> evaluate(const Problem& problem, const Workload& workload,
                            const std::vector<tensor::Tensor>& inputs, const EvaluateOptions& options) {
  KW_TRY_VOID(check_workload(problem, workload));
  KW_TRY_VOID(check_inputs(problem, workload, inputs));
  KW_TRY(NodeShapes plan, node_shapes(problem, workload.axes, options.keep_names));
  if (plan.peak_bytes > static_cast<double>(options.memory_limit))
    return fail(ErrorCode::kLimit,
                "the fp64 reference of '{}' on workload '{}' needs {:.0f} MiB, more than the limit of {} "
                "MiB; choose a smaller workload",
                problem.name, workload.name, plan.peak_bytes / (1 << 20), options.memory_limit >> 20);
  if (plan.operations > options.operation_limit)
    return fail(ErrorCode::kLimit,
                "the fp64 reference of '{}' on workload '{}' takes {:.1f} G operations, more than the limit "
                "of {:.1f} G; choose a smaller "
                "workload",
                problem.name, workload.name, plan.operations / 1e9, options.operation_limit / 1e9);
  try {
    return Interpreter(problem, workload, inputs, options).run(std::move(plan));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kLimit,
                "no memory for the reference of '{}' on workload '{}'; choose a smaller workload",
                problem.name, workload.name);
  }
}

}  // namespace kw::problem
