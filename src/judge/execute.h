// One workload as the judge holds it (inputs, reference, budget: the candidate sees none of them), its
// recorded plan, and the execution of that plan on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "judge/verdict.h"
#include "plan/plan.h"
#include "problem/evaluate.h"
#include "problem/problem.h"
#include "problem/tolerance.h"
#include "tensor/tensor.h"
#include "toolchain/arguments.h"

namespace kw::judge {

struct Case {
  problem::Workload workload;
  WorkloadName name;
  plan::Plan plan;
  // Filled by prepare(), when a rung first needs the case.
  bool prepared = false;
  std::vector<tensor::Tensor> inputs;
  problem::Evaluation reference;
  problem::Tolerance tolerance;
};

Case case_of(problem::Workload workload, bool chosen_by_judge);

// `memory_limit`: bytes that the reference may need at once; kLimit beyond.
Status prepare(const problem::Problem& problem, Case& c, uint64_t seed, int threads,
               int64_t memory_limit = problem::EvaluateOptions().memory_limit);

// Of a prepared case: whether honest work can give these results, for none overflows its dtype, or did on the way. What a
// kernel should give where the exact answer is too large for the output is not for the judge to say. NaN and infinities in
// the inputs are to come out as the reference says.
bool is_representable(const problem::Problem& problem, const Case& c);

// Into every buffer of the plan that is an input; one that the candidate does not name is in no plan.
Status write_inputs(device::LoadedPlan& loaded, const problem::Problem& problem, const Case& c, const std::vector<tensor::Tensor>& inputs);

struct Execution {
  device::RunReport report;
  std::vector<tensor::Tensor> outputs;  // in the order of the problem's; empty when the run did not complete
  std::vector<std::optional<int64_t>> unwritten;   // of each output: the first element that nothing has written
};
Result<Execution> execute(device::Device& device, const problem::Problem& problem, const Case& c,
                          const device::RunOptions& options, uint64_t layout_seed);
// The same on a plan that is loaded already: the case's inputs are written first.
Result<Execution> execute(device::LoadedPlan& loaded, const problem::Problem& problem, const Case& c, const device::RunOptions& options);
// What the last run or call left in the outputs.
Status read_outputs(const device::LoadedPlan& loaded, const problem::Problem& problem, const Case& c, Execution& execution);

// Calls one after another on a device where module variables outlive a call, up to the first with a finding.
Result<std::vector<Execution>> execute_calls(device::Device& device, const problem::Problem& problem, const Case& c,
                                             std::span<const std::vector<tensor::Tensor>* const> inputs, const device::RunOptions& options);

// The failing comparisons of the first output and of the first piece that are over their budgets, if any.
struct Comparison {
  std::optional<Wrong> output, piece;
};
// The metrics of all outputs and pieces are appended to `metrics`.
Result<Comparison> compare(const problem::Problem& problem, const Case& c, const Execution& execution,
                           std::vector<Correct::Output>& metrics);

std::vector<int64_t> unflatten(const tensor::Shape& shape, int64_t flat);

}  // namespace kw::judge
