// Shapes that the author of a candidate did not choose: axes near those of the problem's own small
// workloads (one less, one more, one, a prime), that satisfy the problem's constraints and are cheap enough
// to emulate. The same seed gives the same shapes. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "problem/problem.h"

namespace kw::judge {

inline constexpr double kMaxChosenOperations = 3e6;

std::vector<problem::Workload> choose_shapes(const problem::Problem& problem, uint64_t seed, int count);

}  // namespace kw::judge
