#include "problem/needed_work.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "problem/inputs.h"
#include "problem/plan_memory.h"

namespace kw::problem {
namespace {

constexpr double kMostOperations = 4e10;  // of the experiments with inputs, and of those with operators
constexpr std::size_t kMostNamed = 3;  // in a detail
constexpr std::uint64_t kDraws = 4;    // a scalar may be drawn again as it was

AdmissionCase work_case(std::string name) { return {std::move(name), AdmissionKind::kWork, true, true, 0, {}}; }

// "a, b, c and 4 more"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMostNamed) text += fmt::format(" and {} more", names.size() - kMostNamed);
  return text;
}

// Evaluations of what is admitted with something changed. What the change cannot reach is not computed again, where there is
// memory for the values of all nodes.
class Changes {
 public:
  Changes(const Admitting& a, const NodeShapes& known) : a_(a), known_(known) {
    if (auto values = evaluate_nodes(a.problem, a.workload, a.inputs, a.options)) before_ = std::move(*values);
  }

  // Operations, when these nodes are changed.
  double cost(const std::vector<NodeId>& changed) const {
    if (before_.empty()) return known_.operations;
    std::vector<bool> reached(known_.live.size(), false);
    for (const NodeId id : changed) reached[static_cast<std::size_t>(id)] = true;
    double operations = 0;
    for (std::size_t id = 0; id < reached.size(); ++id) {
      for (const NodeId operand : a_.problem.graph.nodes[id].operands)
        if (reached[static_cast<std::size_t>(operand)]) reached[id] = true;
      if (reached[id] && known_.live[id]) operations += known_.work[id];
    }
    return operations;
  }

  Result<Evaluation> evaluate(const Problem& problem, const std::vector<tensor::Tensor>& inputs, const std::vector<NodeId>& changed) const {
    if (before_.empty()) return problem::evaluate(problem, a_.workload, inputs, a_.options);
    return evaluate_changed(problem, a_.workload, inputs, a_.options, before_, changed);
  }

 private:
  const Admitting& a_;
  const NodeShapes& known_;
  NodeValues before_;
};

// Which of them may be tried for kMostOperations: the cheap ones first, so that most are.
std::vector<bool> affordable(const std::vector<double>& costs) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return costs[x] < costs[y]; });
  std::vector<bool> chosen(costs.size(), false);
  double spent = 0;
  for (const std::size_t i : order) chosen[i] = (spent += costs[i]) <= kMostOperations || i == order.front();
  return chosen;
}

std::string untried(const std::vector<bool>& chosen) {
  const auto left = std::count(chosen.begin(), chosen.end(), false);
  return left == 0 ? "" : fmt::format("{} of {} were not tried: the workload is large", left, chosen.size());
}

// --- inputs -------------------------------------------------------------------------------------------------

// Another distribution with other values than `own` is sure to give.
Distribution another(const Distribution& own, DType dtype) {
  if (own.form != Distribution::Form::kConstant && own.form != Distribution::Form::kOneHot) return own;
  const double width = own.a == 0 ? 1 : std::abs(own.a) / 2;
  if (kind_of(dtype) == Kind::kReal) return {Distribution::Form::kUniform, own.a - width, own.a + width};
  return {Distribution::Form::kIntegers, own.a, own.a + 1};
}

Result<bool> leaves_budget(const Admitting& a, const Evaluation& other) {
  for (std::size_t i = 0; i < a.problem.outputs.size(); ++i) {
    KW_TRY(const tensor::Shape shape, shape_of(a.problem.outputs[i], a.workload));
    KW_TRY(const tensor::Tensor got,
           tensor::Tensor::from_doubles(a.problem.outputs[i].dtype, shape, other.outputs[i].to_doubles()));
    KW_TRY(const tensor::ErrorMetrics metrics, compare_output(a.problem, a.workload, i, got, a.reference, a.tolerance));
    if (!metrics.passed()) return true;
  }
  return false;
}

Result<AdmissionCase> every_input_matters(const Admitting& a, const Changes& changes) {
  AdmissionCase made = work_case("every input matters");
  std::vector<std::vector<NodeId>> nodes(a.inputs.size());  // by input: where it enters the graph
  for (std::size_t id = 0; id < a.problem.graph.nodes.size(); ++id)
    if (const Node& node = a.problem.graph.nodes[id]; node.op == Op::kInput)
      nodes[static_cast<std::size_t>(node.input)].push_back(static_cast<NodeId>(id));
  std::vector<double> costs;
  for (const auto& each : nodes) costs.push_back(changes.cost(each));
  const std::vector<bool> chosen = affordable(costs);
  std::vector<std::string> idle;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    if (a.inputs[i].size() == 0 || !chosen[i]) continue;
    const TensorDecl& input = a.problem.inputs[i];
    KW_TRY(const Distribution own, distribution_of(input, a.workload));
    std::vector<tensor::Tensor> inputs = a.inputs;
    bool matters = false;
    for (std::uint64_t draw = 0; !matters && draw < kDraws; ++draw) {
      KW_TRY(inputs[i], fill(input.dtype, a.inputs[i].shape(), another(own, input.dtype), ~a.seed - draw,
                             a.problem.name + "/" + input.name));
      const auto other = changes.evaluate(a.problem, inputs, nodes[i]);
      if (!other) {  // the reference refuses these values
        matters = true;
      } else {
        KW_TRY(matters, leaves_budget(a, *other));
      }
    }
    if (!matters) idle.push_back("'" + input.name + "'");
  }
  made.detail = untried(chosen);
  if (idle.empty()) return made;
  made.as_expected = false;
  made.detail = fmt::format("no output depends on {} by more than its budget: a kernel need not read {}", listed(idle),
                            idle.size() == 1 ? "it" : "them");
  return made;
}

// --- operators ----------------------------------------------------------------------------------------------

// Steps inside a function are its own business: logsumexp guards against rows of -inf.
bool may_be_left_out(const Node& node) {
  if (node.operands.empty() || node.inside_function) return false;
  switch (op_group(node.op)) {
    case OpGroup::kRound: return node.op != Op::kCast;  // a cast that loses nothing says what is in memory
    case OpGroup::kApproximate:
    case OpGroup::kReduce:
    case OpGroup::kPick:
    case OpGroup::kOpaque: return true;
    case OpGroup::kMove: break;
    case OpGroup::kSource: return false;
  }
  switch (node.op) {
    case Op::kTranspose:
    case Op::kReshape:
    case Op::kBroadcast:
    case Op::kSlice:
    case Op::kConcat:
    case Op::kTake:
    case Op::kStore: return false;
    default: return true;
  }
}

bool same_bits(const Evaluation& a, const Evaluation& b) {
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    const auto x = a.outputs[i].bytes(), y = b.outputs[i].bytes();
    if (x.size() != y.size() || std::memcmp(x.data(), y.data(), x.size()) != 0) return false;
  }
  return true;
}

std::string place_of(const Problem& problem, const Node& node) {
  std::string_view line = line_of(problem.text, node.span.line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return fmt::format("'{}' in line {} ({})", op_name(node.op), node.span.line, line.substr(0, 60));
}

// The problem's other small workloads, where an operator may matter that does not on the first: a guard against rows of
// zeros needs a workload that has them. Evaluated when first asked.
class OtherWorkloads {
 public:
  explicit OtherWorkloads(const Admitting& a) : a_(a) {}

  bool tell_apart(const Problem& changed) {
    if (!evaluated_) prepare();
    return std::any_of(cases_.begin(), cases_.end(), [&](const Case& c) {
      const auto other = evaluate(changed, *c.workload, c.inputs, a_.options);
      return !other || !same_bits(*other, c.reference);
    });
  }

 private:
  struct Case {
    const Workload* workload;
    std::vector<tensor::Tensor> inputs;
    Evaluation reference;
  };

  void prepare() {
    evaluated_ = true;
    for (const Workload& workload : a_.problem.workloads) {
      const auto cost = cost_of(a_.problem, workload);
      if (&workload == &a_.workload || workload.role == Role::kReal || !cost || cost->operations > kMostOperations / 1000)
        continue;
      auto inputs = make_inputs(a_.problem, workload, a_.seed);
      if (!inputs) continue;
      auto reference = evaluate(a_.problem, workload, *inputs, a_.options);
      if (reference) cases_.push_back({&workload, std::move(*inputs), std::move(*reference)});
    }
  }

  const Admitting& a_;
  std::vector<Case> cases_;
  bool evaluated_ = false;
};

struct LeftOut {
  NodeId node, operand;  // the one that takes its place
};

std::vector<LeftOut> what_to_leave_out(const Problem& problem, const NodeShapes& known) {
  std::vector<LeftOut> found;
  for (std::size_t id = 0; id < known.shapes.size(); ++id) {
    const Node& node = problem.graph.nodes[id];
    if (!known.live[id] || known.counts[id] == 0 || !may_be_left_out(node)) continue;
    for (const NodeId operand : node.operands) {
      const auto o = static_cast<std::size_t>(operand);
      if (known.shapes[o] != known.shapes[id] && !(known.counts[o] == known.counts[id] && node.operands.size() == 1)) continue;
      if (problem.graph.nodes[o].kind != node.kind || problem.graph.nodes[o].op == Op::kConstant) continue;
      found.push_back({static_cast<NodeId>(id), operand});
    }
  }
  return found;
}

AdmissionCase every_operator_matters(const Admitting& a, const NodeShapes& known, const Changes& changes) {
  AdmissionCase made = work_case("every operator matters");
  const std::vector<LeftOut> all = what_to_leave_out(a.problem, known);
  std::vector<double> costs;
  for (const LeftOut& each : all) costs.push_back(changes.cost({each.node}));
  const std::vector<bool> chosen = affordable(costs);
  std::vector<NodeId> idle;
  Problem changed = a.problem;
  OtherWorkloads others(a);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!chosen[i] || (!idle.empty() && idle.back() == all[i].node)) continue;
    Node& left_out = changed.graph.nodes[static_cast<std::size_t>(all[i].node)];
    left_out.op = Op::kReshape;
    left_out.operands = {all[i].operand};
    const auto other = changes.evaluate(changed, a.inputs, {all[i].node});
    if (other && same_bits(*other, a.reference) && !others.tell_apart(changed)) idle.push_back(all[i].node);
    left_out = a.problem.graph.nodes[static_cast<std::size_t>(all[i].node)];
  }
  made.detail = untried(chosen);
  if (idle.empty()) return made;
  std::vector<std::string> places;
  for (const NodeId id : idle) places.push_back(place_of(a.problem, a.problem.graph.nodes[static_cast<std::size_t>(id)]));
  made.as_expected = false;
  made.detail = fmt::format("leaving out {} changes no bit of any output on these inputs", listed(places));
  return made;
}

// --- products -----------------------------------------------------------------------------------------------

class Collapses {
 public:
  Collapses(const Problem& problem, const NodeShapes& known) : problem_(problem), known_(known), readers_(known.shapes.size(), 0) {
    for (std::size_t id = 0; id < readers_.size(); ++id)
      if (known.live[id])
        for (const NodeId operand : problem.graph.nodes[id].operands) ++readers_[static_cast<std::size_t>(operand)];
    for (const TensorDecl& output : problem.outputs) ++readers_[static_cast<std::size_t>(output.node)];
  }

  // Whether a matmul or a convolution that nothing else reads is reached from node `id`, summed over `axis` (counted from
  // the last: 0, 1, …).
  bool reaches_product(NodeId id, std::size_t from_last) const {
    const Node& node = problem_.graph.nodes[static_cast<std::size_t>(id)];
    const auto& shape = known_.shapes[static_cast<std::size_t>(id)];
    if (from_last >= shape.size() || shape[shape.size() - 1 - from_last] <= 1) return false;
    if (readers_[static_cast<std::size_t>(id)] > 1) return false;  // as a layer norm needs its operand besides the mean
    switch (node.op) {
      case Op::kMatmul: return from_last < 2;
      case Op::kConv:
      case Op::kConvTranspose: return from_last + 2 >= shape.size();  // images or channels
      case Op::kStore:
      case Op::kNegate: return reaches_product(node.operands[0], from_last);
      case Op::kAdd:
      case Op::kSubtract:
        return reaches_product(node.operands[0], from_last) || reaches_product(node.operands[1], from_last);
      case Op::kMultiply:
        return (is_constant_along(node.operands[1], from_last) && reaches_product(node.operands[0], from_last)) ||
               (is_constant_along(node.operands[0], from_last) && reaches_product(node.operands[1], from_last));
      case Op::kDivide:
        return is_constant_along(node.operands[1], from_last) && reaches_product(node.operands[0], from_last);
      default: return false;
    }
  }

 private:
  bool is_constant_along(NodeId id, std::size_t from_last) const {
    const auto& shape = known_.shapes[static_cast<std::size_t>(id)];
    return from_last >= shape.size() || shape[shape.size() - 1 - from_last] == 1;
  }

  const Problem& problem_;
  const NodeShapes& known_;
  std::vector<int> readers_;  // by node; an output is one
};

AdmissionCase no_product_collapses(const Problem& problem, const NodeShapes& known) {
  AdmissionCase made = work_case("no product collapses");
  const Collapses collapses(problem, known);
  std::vector<std::string> found;
  made.applicable = false;
  made.detail = "there is no product";
  for (std::size_t id = 0; id < known.shapes.size(); ++id) {
    const Node& node = problem.graph.nodes[id];
    if (!known.live[id]) continue;
    made.applicable |= node.op == Op::kMatmul || node.op == Op::kConv || node.op == Op::kConvTranspose;
    if (node.op != Op::kSum && node.op != Op::kMean) continue;
    const std::size_t rank = known.shapes[static_cast<std::size_t>(node.operands[0])].size();
    for (const std::int64_t axis : node.axes)
      if (collapses.reaches_product(node.operands[0], rank - 1 - static_cast<std::size_t>(axis))) {
        found.push_back(place_of(problem, node));
        break;
      }
  }
  if (made.applicable) made.detail.clear();
  if (found.empty()) return made;
  made.as_expected = false;
  made.detail = fmt::format("{} sums a product over an axis that only one factor has: a vector takes the matrix's place",
                            listed(found));
  return made;
}

}  // namespace

Result<std::vector<AdmissionCase>> needed_work(const Admitting& admitting) {
  KW_TRY(const NodeShapes known, node_shapes(admitting.problem, admitting.workload.axes));
  const Changes changes(admitting, known);
  std::vector<AdmissionCase> cases;
  KW_TRY(AdmissionCase inputs, every_input_matters(admitting, changes));
  cases.push_back(std::move(inputs));
  cases.push_back(every_operator_matters(admitting, known, changes));
  cases.push_back(no_product_collapses(admitting.problem, known));
  return cases;
}

}  // namespace kw::problem
