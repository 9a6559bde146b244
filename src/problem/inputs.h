// Input tensors of a workload, from a seed.
//
// Contract. The values depend on (problem name, input name, distribution, shape, dtype, seed) and on nothing
// else: not on threads, the order of calls, or the machine. Element i takes draw i of a counter-based stream
// (base/rng.h) of (seed, problem and input name), then is rounded to the dtype, so that the value that the
// reference reads is the value that the device reads. A finite value beyond the dtype's range becomes the
// largest finite one.
// Errors: a workload that does not fit the problem, or inputs of more than `limit` bytes.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "problem/problem.h"
#include "tensor/tensor.h"

namespace kw::problem {

inline constexpr std::int64_t kDefaultInputLimit = std::int64_t{8} << 30;

// One tensor per input, in the order of problem.inputs, at the declared dtypes.
Result<std::vector<tensor::Tensor>> make_inputs(const Problem& problem, const Workload& workload,
                                                std::uint64_t seed, std::int64_t limit = kDefaultInputLimit);

// The first `count` elements of one input, or all if it has fewer, as make_inputs() makes them: one axis. Costs nothing of the others.
Result<tensor::Tensor> make_beginning(const Problem& problem, const Workload& workload, const TensorDecl& input,
                                      std::uint64_t seed, std::int64_t count);

// One tensor by distribution; `stream` tells apart tensors of the same seed.
Result<tensor::Tensor> fill(DType dtype, tensor::Shape shape, const Distribution& distribution,
                            std::uint64_t seed, std::string_view stream);

}  // namespace kw::problem
