// A kernel for a matrix product with what is computed of its result: tiles of kernelwright/gemm_tile.cuh (tensor cores) or fma_tile.cuh (the
// ordinary ones), with the epilogue in fp32 on the accumulators. Tunables: the tile, how warps or threads share it, stages, the order of the
// tiles, and of 16-bit and tf32 operands which cores. Pure; thread-safe.
#pragma once

#include <string>

#include "base/result.h"
#include "problem/problem.h"

namespace kw::agent {

// kUnsupported: why the problem is none of these. One product of two inputs, either one also transposed; leading axes of an operand are the
// result's, its last ones, or none. Behind it anything element by element (template_elements.h).
Result<std::string> product_kernel(const problem::Problem& problem);

}  // namespace kw::agent
