// Shapes that the author of a candidate did not choose, which satisfy the problem's constraints and are cheap enough to emulate.
// The same seed gives the same shapes. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "problem/problem.h"

namespace kw::judge {

inline constexpr double kMaxChosenOperations = 3e6, kMaxShortenedOperations = 5e5;
inline constexpr int kMostShortened = 5;

// Axes near those of the problem's own small workloads: one less, one more, one, a prime.
std::vector<problem::Workload> choose_shapes(const problem::Problem& problem, uint64_t seed, int count);

// Real workloads, some axes shortened so that others keep their real lengths: each length that is cheap and that no small workload
// has, while `count` lasts. What a kernel does only where a head has 128 elements is seen, though all small heads have 64.
std::vector<problem::Workload> shortened_workloads(const problem::Problem& problem, uint64_t seed, int count);

}  // namespace kw::judge
