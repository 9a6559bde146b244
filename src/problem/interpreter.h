// Computes the nodes of a graph in order, for the functions of evaluate.h, which have checked problem, inputs and limits.
// Internal to evaluation.
#pragma once

#include <set>
#include <vector>

#include "problem/arithmetic.h"
#include "problem/evaluate.h"
#include "problem/host_ops.h"
#include "problem/plan_memory.h"

namespace kw::problem {

class Interpreter {
 public:
  Interpreter(const Problem& problem, const Workload& workload, const std::vector<tensor::Tensor>& inputs,
              const EvaluateOptions& options);

  // One of these, once.
  Result<Evaluation> run(NodeShapes plan);
  Result<NodeValues> run_and_keep(NodeShapes plan);
  Result<Evaluation> run_changed(NodeShapes plan, const NodeValues& before, const std::vector<NodeId>& changed);

 private:
  Status compute_all(NodeShapes plan);
  Status compute(const Node& node, NodeId id);
  Status call_python(const Node& node, NodeId id);
  void finish(const Node& node, NodeId id);
  Result<Evaluation> collect();

  Array array(NodeId id) const { return {value_of(id).data(), plan_.shapes[static_cast<std::size_t>(id)]}; }
  const Buffer& value_of(NodeId id) const;
  bool may_take(NodeId id) const;
  Buffer result_buffer(const Node& node, NodeId id);

  const Problem& problem_;
  const AxisValues& axes_;
  const std::vector<tensor::Tensor>& inputs_;
  const EvaluateOptions& options_;
  NodeShapes plan_;
  std::vector<Buffer> values_;
  std::set<NodeId> answered_;  // python nodes that have their values
  NodeId reused_ = -1;  // the operand whose buffer the node being computed took
  int threads_ = 1;
  Arithmetic arithmetic_;
  bool single_ = false;
  bool keep_ = false;                  // every node's value
  const NodeValues* before_ = nullptr; // of an evaluation that this one differs from in few nodes:
  std::vector<bool> changed_;          // in these,
  std::vector<bool> as_before_;        // and not in these, whose values are there
};

}  // namespace kw::problem
