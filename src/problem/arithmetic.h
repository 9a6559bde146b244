// What the precision that was asked for does to values: the arithmetic of evaluate.h's Precision. Internal to evaluation.
#pragma once

#include "problem/disturbance.h"
#include "problem/evaluate.h"

namespace kw::problem {

class Arithmetic {
 public:
  Arithmetic(const Problem& problem, const EvaluateOptions& options, int threads);

  bool in_double() const { return in_double_; }  // an output is f64: honest kernels compute in fp64
  bool single() const { return single_; }        // sums are fp32's

  // Of a finished node.
  void finish(const Node& node, NodeId id, const std::vector<Array>& operands, const NodeShapes& plan, Buffer& value) const;

 private:
  Precision precision_;
  bool in_double_, single_;
  int bits_;
  DisturbanceRule rule_;
};

}  // namespace kw::problem
