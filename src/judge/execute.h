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
#include "toolchain/toolchain.h"

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

// What the recorder may bind a candidate's parameters to.
toolchain::Workload arguments_of(const problem::Problem& problem, const problem::Workload& workload);

Status prepare(const problem::Problem& problem, Case& c, uint64_t seed, int threads);

struct Execution {
  device::RunReport report;
  std::vector<tensor::Tensor> outputs;  // in the order of the problem's; empty when the run did not complete
  std::vector<std::optional<int64_t>> unwritten;   // of each output: the first element that nothing has written
};
Result<Execution> execute(device::Device& device, const problem::Problem& problem, const Case& c,
                          const device::RunOptions& options, uint64_t layout_seed);

// Calls one after another on a device where module variables outlive a call: the last one's.
Result<Execution> execute_last(device::Device& device, const problem::Problem& problem, const Case& c,
                               std::span<const std::vector<tensor::Tensor>* const> inputs, const device::RunOptions& options);

// The failing comparison of the first output that is over its budget, if any; the metrics of all outputs are
// appended to `metrics`.
Result<std::optional<Wrong>> compare(const problem::Problem& problem, const Case& c, const Execution& execution,
                                     std::vector<Correct::Output>& metrics);

std::vector<int64_t> unflatten(const tensor::Shape& shape, int64_t flat);

}  // namespace kw::judge
