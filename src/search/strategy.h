// Which step comes next: a pure function of the tree, the memory, the settings and the number of the step.
//
// kMcts: from the root down. At a node with n evaluations below it (those in flight included) the arms are
// its children and, while it has fewer than width · n^growth of them, one child more. The walk goes on along
// the arm of highest score,
//
//     value + exploration · sqrt(ln(1 + n) / (1 + tried)) + advice · strength / (1 + tried)
//
// Of a child, `tried` is what was evaluated below it and value = greed · (best below) + (1 - greed) · (mean
// below). Of one more child, `tried` is the number of those there are and value that of the node itself.
// Strength is that of the best proposal that waits at the child, or at the node. So branching is asymmetric:
// a node that is fast, or has strong advice, gets more children. Rewards are log-speedups scaled to the
// root's and the best's; dead ends and evaluations in flight count 0 in the mean. A subtree is closed after
// `patience` evaluations in a row that gave nothing better; when all are closed, patience doubles.
//
// kGreedy: from the best node that has room.
//
// kBestOfN: chains of `chain` evaluations, each from the root on along what works.
//
// Of the proposals that wait at a node the one of greatest strength() comes first. The constants are chosen
// by experiment: docs/perf/search.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "search/memory.h"
#include "search/tree.h"

namespace kw::search {

enum class Strategy : uint8_t { kMcts, kGreedy, kBestOfN };

std::string_view name(Strategy strategy);

struct Constants {
  double width = 1.2;   // children of a node after one evaluation
  double growth = 0.9;  // of that with evaluations: 0 never, 1 in proportion
  double exploration = 0.1;
  double advice = 0.2;
  double greed = 0.9;      // 1: only the best below a node counts, 0: only the mean
  uint32_t patience = 12;  // evaluations in a row
  double trust = 30;       // trials that the advice's own priority is worth against experience
  uint32_t chain = 16;     // of kBestOfN
};

struct Options {
  Strategy strategy = Strategy::kMcts;
  uint64_t seed = 0;
  uint64_t evaluations = 100;  // the budget
  int in_flight = 1;           // steps at once; part of what decides, as the seed is
  int proposals = 4;           // wanted each time that the environment is asked
  Constants constants;
};

Choice choose(const Tree& tree, const Memory& memory, const Options& options, uint64_t step);

}  // namespace kw::search
