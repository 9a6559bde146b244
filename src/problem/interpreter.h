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
  Status compute_whole(const Region& region);
  Status compute_placed(NodeId id);
  Status compute(const Node& node, NodeId id);
  Status call_python(const Node& node, NodeId id);
  void finish(const Node& node, NodeId id);
  Result<Evaluation> collect();

  // interpreter_slices.cc
  Interpreter(Interpreter& whole, const Region& region);  // computes slices of a region for it
  Status compute_slices(const Region& region);
  Status compute_slice(std::int64_t slice);
  void load(NodeId id);
  void store(NodeId id);

  Array array(NodeId id) const {
    return {value_of(id).data(), plan_.shapes[static_cast<std::size_t>(id)], plan_.firsts[static_cast<std::size_t>(id)]};
  }
  const Buffer& value_of(NodeId id) const;
  bool may_take(NodeId id) const;
  Buffer result_buffer(const Node& node, NodeId id);
  Buffer new_buffer(std::size_t count);
  void let_go(NodeId reader);

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
  Interpreter* whole_ = nullptr;       // where the values outside the region are:
  const Region* region_ = nullptr;     // of whose slices this one computes some
  std::vector<std::int64_t> parts_;    // of the loops, in the slice that values_ are of
  std::vector<Buffer> spare_;          // for values of the next slices
};

}  // namespace kw::problem
