// Input tensors of a workload, from a seed.
//
// Contract. The values depend on (problem name, input name, distribution, shape, dtype, seed) and on nothing
// else: not on threads, the order of calls, or the machine. Each element is drawn from a counter-based
// generator (Philox-4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) keyed by
// a hash of those, at the counter of its flat index, then rounded to the dtype, so that the fp64 value that
// the reference reads is the value that the device reads. normal is Box-Muller in fp64 from 32-bit uniforms.
// Integers, indices and booleans: rounded to nearest, clamped to the dtype.
// Errors: a workload that does not fit the problem, or inputs of more than `limit` bytes.
// Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "problem/problem.h"
#include "tensor/tensor.h"

namespace kw::problem {

inline constexpr std::int64_t kDefaultInputLimit = std::int64_t{8} << 30;

// One tensor per input, in the order of problem.inputs, at the declared dtypes.
Result<std::vector<tensor::Tensor>> make_inputs(const Problem& problem, const Workload& workload,
                                                std::uint64_t seed,
                                                std::int64_t limit = kDefaultInputLimit);

// One tensor by distribution; `stream` tells apart tensors of the same seed.
Result<tensor::Tensor> fill(DType dtype, tensor::Shape shape, const Distribution& distribution,
                            std::uint64_t seed, std::string_view stream);

}  // namespace kw::problem
