#include "problem/problem.h"

#include <algorithm>

#include "base/check.h"
#include "base/near_miss.h"
#include "base/parallel.h"
#include "problem/evaluate.h"
#include "problem/plan_memory.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kLargestAxis = std::int64_t{1} << 40;

template <typename List>
auto find_named(const List& list, std::string_view name) -> decltype(list.data()) {
  for (const auto& item : list)
    if (item.name == name) return &item;
  return nullptr;
}

Error remark(const Problem& problem, const Span& span, std::string message, std::string note) {
  Error error;
  error.message = std::move(message);
  error.span = span;
  error.source_line = std::string(line_of(problem.text, span.line));
  error.notes.push_back(std::move(note));
  return error;
}

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kSmallest: return "smallest";
    case Role::kShape: return "shape";
    case Role::kEmulator: return "emulator";
    case Role::kReal: return "real";
  }
  return "";
}

std::string Distribution::text() const {
  switch (form) {
    case Form::kNormal: return fmt::format("normal({}, {})", a, b);
    case Form::kUniform: return fmt::format("uniform({}, {})", a, b);
    case Form::kIntegers:
      return high ? fmt::format("integers({}, {})", a, high->text()) : fmt::format("integers({}, {})", a, b);
    case Form::kConstant: return fmt::format("constant({})", a);
    case Form::kOneHot: return fmt::format("one_hot({})", a);
    case Form::kSorted: return fmt::format("sorted({}, {})", a, b);
    case Form::kCancel: return fmt::format("cancel({})", a);
    case Form::kSpikes: return fmt::format("spikes({}, {})", a, b);
  }
  return "";
}

Result<Distribution> Distribution::at(const AxisValues& axes) const {
  Distribution resolved = *this;
  if (!high) return resolved;
  KW_TRY(const std::int64_t bound, high->evaluate(axes));
  resolved.b = static_cast<double>(bound);
  resolved.high.reset();
  if (resolved.b < a)
    return fail(ErrorCode::kInvalid, "{}, but {} is {}; constrain the axes so that low is not above high",
                text(), high->text(), bound);
  return resolved;
}

Result<bool> Constraint::holds(const AxisValues& axes) const {
  KW_TRY(const std::int64_t a, left.evaluate(axes));
  KW_TRY(const std::int64_t b, right.evaluate(axes));
  if (relation == "==") return a == b;
  if (relation == "!=") return a != b;
  if (relation == "<") return a < b;
  if (relation == "<=") return a <= b;
  if (relation == ">") return a > b;
  KW_CHECK(relation == ">=");
  return a >= b;
}

const Workload* Problem::find_workload(std::string_view wanted) const {
  return find_named(workloads, wanted);
}
const TensorDecl* Problem::find_input(std::string_view wanted) const { return find_named(inputs, wanted); }
const TensorDecl* Problem::find_output(std::string_view wanted) const { return find_named(outputs, wanted); }

Result<tensor::Shape> concrete(const SymbolicShape& shape, const AxisValues& axes) {
  tensor::Shape sizes;
  for (const Dim& dim : shape) {
    KW_TRY(const std::int64_t size, dim.evaluate(axes));
    if (size < 0) return fail(ErrorCode::kInvalid, "size {} is {}; sizes start at 0", dim.text(), size);
    sizes.push_back(size);
  }
  KW_TRY_VOID(tensor::element_count(sizes));
  return sizes;
}

Result<tensor::Shape> shape_of(const TensorDecl& declaration, const Workload& workload) {
  return concrete(declaration.shape, workload.axes);
}

Result<Distribution> distribution_of(const TensorDecl& input, const Workload& workload) {
  for (const auto& [name, other] : workload.inputs)
    if (name == input.name) return other.at(workload.axes);
  return input.distribution.at(workload.axes);
}

Status check_workload(const Problem& problem, const Workload& workload) {
  std::vector<std::string> known;
  for (const Axis& axis : problem.axes) {
    known.push_back(axis.name);
    const auto at = workload.axes.find(axis.name);
    if (at == workload.axes.end())
      return fail(ErrorCode::kInvalid, "workload '{}' does not set axis '{}'; add {}=…", workload.name,
                  axis.name, axis.name);
    if (at->second < 0 || at->second > kLargestAxis)
      return fail(ErrorCode::kLimit, "workload '{}': axis '{}' is {}; sizes lie between 0 and 2^40",
                  workload.name, axis.name, at->second);
  }
  for (const auto& [name, value] : workload.axes)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string hint = nearest(name, known);
      return fail(ErrorCode::kNotFound, "workload '{}' sets '{}', which is no axis of '{}'{}", workload.name,
                  name, problem.name,
                  hint.empty() ? std::string() : fmt::format("; did you mean '{}'?", hint));
    }
  for (const auto& [name, distribution] : workload.inputs)
    if (problem.find_input(name) == nullptr)
      return fail(ErrorCode::kNotFound, "workload '{}' fills '{}', which is no input of '{}'", workload.name,
                  name, problem.name);
  for (const TensorDecl& input : problem.inputs)
    if (const auto filled = distribution_of(input, workload); !filled)
      return fail(filled.error().code, "workload '{}', input '{}': {}", workload.name, input.name,
                  filled.error().message);
  for (const Constraint& constraint : problem.constraints) {
    KW_TRY(const bool holds, constraint.holds(workload.axes));
    if (!holds)
      return fail(ErrorCode::kInvalid, "workload '{}' breaks the constraint {} of line {}", workload.name,
                  constraint.text, constraint.span.line);
  }
  for (const auto* list : {&problem.inputs, &problem.outputs, &problem.pieces})
    for (const TensorDecl& declaration : *list)
      if (const auto shape = shape_of(declaration, workload); !shape)
        return fail(shape.error().code, "workload '{}', tensor '{}': {}", workload.name, declaration.name,
                    shape.error().message);
  // Slices, reshapes and outputs that only numbers can prove right.
  if (const auto shapes = node_shapes(problem, workload.axes); !shapes) return fail(shapes.error());
  return {};
}

Result<Workload> make_workload(const Problem& problem, std::string name, Role role, AxisValues axes) {
  Workload workload;
  workload.name = std::move(name);
  workload.role = role;
  workload.axes = std::move(axes);
  KW_TRY_VOID(check_workload(problem, workload));
  return workload;
}

std::vector<Error> check(const Problem& problem) {
  std::vector<Error> errors;
  const auto has_role = [&](Role role) {
    return std::any_of(problem.workloads.begin(), problem.workloads.end(),
                       [&](const Workload& w) { return w.role == role; });
  };
  const Span top{problem.file, 1, 1, 0};
  if (!has_role(Role::kSmallest))
    errors.push_back(remark(problem, top, "no workload has the role 'smallest'",
                            "add the least work that is still the problem"));
  if (!has_role(Role::kShape))
    errors.push_back(
        remark(problem, top, "no workload has the role 'shape'", "add odd sizes, tails and size one"));
  for (const Workload& workload : problem.workloads)
    if (workload.role == Role::kReal && workload.note.empty())
      errors.push_back(remark(problem, workload.span,
                              fmt::format("real workload '{}' has no note", workload.name),
                              "say in quotes where the shape comes from"));
  std::vector<bool> used(problem.graph.nodes.size(), false);
  for (const TensorDecl& output : problem.outputs) used[static_cast<std::size_t>(output.node)] = true;
  for (std::size_t i = used.size(); i-- > 0;)
    if (used[i])
      for (NodeId operand : problem.graph.nodes[i].operands) used[static_cast<std::size_t>(operand)] = true;
  for (const TensorDecl& input : problem.inputs)
    if (!used[static_cast<std::size_t>(input.node)])
      errors.push_back(remark(problem, input.span, fmt::format("no output depends on input '{}'", input.name),
                              "use it or remove it"));
  std::vector<std::string> axes;
  for (const auto* list : {&problem.inputs, &problem.outputs})
    for (const TensorDecl& declaration : *list)
      for (const Dim& dim : declaration.shape) dim.collect_axes(axes);
  for (const Axis& axis : problem.axes)
    if (std::find(axes.begin(), axes.end(), axis.name) == axes.end())
      errors.push_back(remark(problem, axis.span, fmt::format("axis '{}' is in no tensor's shape", axis.name),
                              "a candidate could not know it; use it in a shape or make it an attribute"));
  return errors;
}

Problem asking_for(Problem problem, const std::function<bool(const TensorDecl& piece)>& wanted) {
  for (TensorDecl& piece : problem.pieces) {
    if (!wanted(piece)) continue;
    piece.piece = true;
    problem.outputs.push_back(std::move(piece));
  }
  problem.pieces.clear();
  return problem;
}

namespace {

// Whether every value needs all elements of the operand: not where some are picked, masked or passed over.
bool reads_all(const Node& node, std::size_t operand) {
  switch (node.op) {
    case Op::kWhere: return operand == 0;
    case Op::kSlice:
    case Op::kTake:
    case Op::kGather:
    case Op::kScatter:
    case Op::kScatterAdd:
    case Op::kScatterMax:
    case Op::kScatterMin:
    case Op::kWindows:
    case Op::kConv:             // steps may pass elements over
    case Op::kConvTranspose:
    case Op::kAvgPool:
    case Op::kMaxPool:
    case Op::kPad:              // by a negative width
    case Op::kPython: return false;
    default: return true;
  }
}

// By node: an output cannot be had without all of it.
std::vector<bool> needed_whole(const Problem& problem) {
  const std::vector<Node>& nodes = problem.graph.nodes;
  std::vector<bool> needed(nodes.size(), false);
  for (const TensorDecl& output : problem.outputs) needed[static_cast<std::size_t>(output.node)] = true;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    for (std::size_t k = 0; needed[i] && k < nodes[i].operands.size(); ++k)
      if (reads_all(nodes[i], k)) needed[static_cast<std::size_t>(nodes[i].operands[k])] = true;
  }
  return needed;
}

}  // namespace

Result<Cost> cost_of(const Problem& problem, const Workload& workload) {
  KW_TRY(const NodeShapes shapes, node_shapes(problem, workload.axes, false, {kSliceBytes, available_cores()}));
  Cost cost;
  const auto bytes = [&](const TensorDecl& declaration) {
    const auto& shape = shapes.shapes[static_cast<std::size_t>(declaration.node)];
    double count = 1;
    for (std::int64_t size : shape) count *= static_cast<double>(size);
    return count * tensor::bits_of(declaration.dtype) / 8;
  };
  const std::vector<bool> needed = needed_whole(problem);
  for (const TensorDecl& input : problem.inputs) {
    cost.input_bytes += bytes(input);
    if (needed[static_cast<std::size_t>(input.node)]) cost.needed_bytes += bytes(input);
  }
  for (const TensorDecl& output : problem.outputs) cost.output_bytes += bytes(output);
  cost.needed_bytes += cost.output_bytes;
  cost.operations = shapes.operations;
  cost.matmul_operations = shapes.matmul_operations;
  cost.peak_bytes = shapes.peak_bytes;
  return cost;
}

}  // namespace kw::problem
