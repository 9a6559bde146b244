// Philox4x32-10, the counter-based generator of cuRAND and PyTorch, and what they make of its words.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. How cuRAND counts
// (curand_kernel.h): the key is the seed, low word first; the counter is the number of the block of four outputs in
// its lower half and the subsequence in its upper half. Pure functions; thread-safe. Internal to problem.
#pragma once

#include <array>
#include <cstdint>

#include "problem/host_ops.h"

namespace kw::problem {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;
PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key);

// The output number `offset` of curand_init(seed, subsequence, 0), and the three after it.
PhiloxCounter philox_outputs(std::uint64_t seed, std::uint64_t subsequence, std::uint64_t offset);

// curand_uniform of one word: a float in (0, 1].
float philox_uniform(std::uint32_t word);

// The operators on arrays of `count` blocks or words. kInvalid for what is no whole number in range: names it.
Status philox_blocks(const Array& counter, const Array& key, double* out, std::int64_t count, int threads);
Status philox(const Array& seed, const Array& subsequence, const Array& offset, double* out, std::int64_t count,
              int threads);
Status uniform(const Array& words, double* out, std::int64_t count, int threads);

}  // namespace kw::problem
