// The error that a node's operator may honestly make; see tolerance.h for the table. Internal to evaluation.
#pragma once

#include <vector>

#include "problem/host_ops.h"
#include "problem/plan_memory.h"

namespace kw::problem {

struct DisturbanceRule {
  double unit = 0x1p-24;   // half the spacing of the arithmetic at 1
  std::uint64_t seed = 0;  // of the signs
  int threads = 1;
};

// Pushes each finite result by its operator's bound, up or down by a hash of (seed, node, element).
void disturb(const Node& node, NodeId id, const std::vector<Array>& operands, const NodeShapes& plan, Buffer& result,
             const DisturbanceRule& rule);

}  // namespace kw::problem
