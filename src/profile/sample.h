// The profiled workload's own launches, counted in a sample of their blocks: for kernels whose launch cannot be made smaller without
// changing what a block does (persistent grids, rows a block that go by the grid, loops that go by the sizes).
//
// Inputs hold the beginning of what their distributions give, over and over (device/block_sample.h); everything else zeros. So counts
// that depend on values are those of plausible ones. Which blocks: kMostBlocks or fewer, as many as can be emulated in some seconds; all
// of a small grid. The edges of the grid's first two axes are apart from its interior, and within each part blocks are spread evenly
// along every axis. What a part's blocks do stands for as many as it has. Where some do much more than others, thrice as many are taken.
// What a whole launch touches follows from what each further block of the sample adds. Deterministic but for the deadline. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "profile/subject.h"

namespace kw::profile {

inline constexpr uint64_t kMostBlocks = 32;

struct Stratum {
  std::vector<uint64_t> blocks;   // linear indices, distinct
  uint64_t of = 0;                // blocks of the grid that they stand for
  double weight() const { return static_cast<double>(of) / static_cast<double>(blocks.size()); }
};
// About `most` blocks, at least two of every stratum that has as many. The largest stratum is first.
std::vector<Stratum> strata_of(const std::array<uint32_t, 3>& grid, uint64_t most);

// One launch, all its blocks.
struct LaunchCounts {
  uint32_t step = 0;
  emu::Counters counters;
  std::vector<Site> sites;
  uint64_t blocks = 0;            // that ran
};
struct SampleOptions {
  uint64_t most = kMostBlocks;    // of a launch, about
  uint64_t seed = 1;              // of the inputs
  int threads = 0;                // of the host; 0: all
  double deadline_s = 60;
};
// Launches in the order of the plan; those that differ in buffers only are counted once.
// Errors: kInvalid when a block does not end within its bound, waits for others or faults, or when blocks share out work among
// themselves, so that a sample of them would do it all; else as the emulator's.
Result<std::vector<LaunchCounts>> sample(const problem::Problem& problem, const problem::Workload& workload, const plan::Plan& plan,
                                         const SampleOptions& options = {});

}  // namespace kw::profile
