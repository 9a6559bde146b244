// The tensors of a problem as NumPy files in a folder, one NAME.npy each. Internal to command.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "problem/evaluate.h"
#include "problem/problem.h"

namespace kw::command {

// Every input of the problem, checked against the workload's shapes; floating values are rounded to the declared dtype.
Result<std::vector<tensor::Tensor>> read_inputs(const problem::Problem& problem, const problem::Workload& workload,
                                                const std::string& folder);
Status write_tensor(const std::string& folder, const std::string& name, const tensor::Tensor& tensor);

// The largest |got − expected| / (|expected| + rms of the expected), over the outputs in `folder`; equal infinities and
// NaN at the same places do not differ, at others they differ by +inf.
Result<double> difference(const problem::Problem& problem, const problem::Evaluation& got, const std::string& folder);

}  // namespace kw::command
