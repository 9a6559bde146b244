// Is the work that a reference states needed for its outputs? What can be left out unseen will be, and a kernel that
// leaves it out is not faster at the problem but at another one. Part of admit(). Thread-safe.
#pragma once

#include <vector>

#include "base/result.h"
#include "problem/admit.h"
#include "problem/evaluate.h"

namespace kw::problem {

struct Admitting {  // what is being admitted, on one workload
  const Problem& problem;
  const Workload& workload;
  const std::vector<tensor::Tensor>& inputs;
  const Evaluation& reference;  // of those inputs
  const Tolerance& tolerance;
  std::uint64_t seed;
  const EvaluateOptions& options;
};

// Three cases, each an experiment or a fact of the graph, never a guess by names:
//   "every input matters"     each input alone is filled anew (a constant one is scattered around its value): some
//                             output must leave its budget. Else a kernel need not read it.
//   "every operator matters"  each pointwise operator, last step of a function, and reduction of axes of size one is
//                             replaced by the operand that has its shape: some output must change by a bit, on this or another of
//                             the problem's small workloads. Else the operator does nothing on such inputs: relu of
//                             what is positive, clamp of what lies within, a bias of 0.
//   "no product collapses"    no matmul is summed, and read by nothing else, over an axis that only one of its operands
//                             has, with nothing but sums and scalings between: sum_j (A B)_ij = A (sum_j B_j), a vector instead of a matrix.
// Where trying all inputs, or all operators, takes more than about 40 G operations the dearest are left out, and the detail says
// how many.
Result<std::vector<AdmissionCase>> needed_work(const Admitting& admitting);

}  // namespace kw::problem
