// Operands of matrix products as they lie in memory. Internal to agent.
#pragma once

#include <optional>

#include "base/result.h"
#include "problem/problem.h"

namespace kw::agent {

struct Operand {
  const problem::TensorDecl* input = nullptr;
  problem::SymbolicShape shape;             // of the input, with the axes of 1 that it is seen with
  bool transposed = false;                  // the product takes it with its last two axes swapped
  std::optional<problem::DType> stored;     // what an implementation may keep it in
};

// kUnsupported: the operand is computed.
Result<Operand> operand_of(const problem::Problem& problem, problem::NodeId id);

// The nodes, among those that the outputs need, that are matrix products.
std::vector<problem::NodeId> products_of(const problem::Problem& problem);

}  // namespace kw::agent
