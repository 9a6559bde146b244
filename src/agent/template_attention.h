// A kernel for attention, softmax(scores) @ v, with scores made from q @ transpose(k): the tile of kernelwright/attention_tile.cuh, which
// keeps a running maximum and sum. Tunables: warps a block (16 queries each), keys a tile. Pure; thread-safe.
#pragma once

#include <string>

#include "base/result.h"
#include "problem/problem.h"

namespace kw::agent {

// kUnsupported: why the problem is none of these. q, k, v and the output are all f16 or all bf16; the last axis of all is a constant, 64, 128,
// 192 or 256; leading axes of k and v are those of q, its last ones, or none. Between the product and the softmax anything element by element
// (template_elements.h); where(arange(S) <= arange(S)[:, None], …, -inf) outermost, of queries and keys of one number, leaves out the keys that no query sees.
Result<std::string> attention_kernel(const problem::Problem& problem);

}  // namespace kw::agent
