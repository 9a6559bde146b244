// What evaluating a graph will take, before anything is allocated: the concrete shape of each node, when its
// value can be freed, the peak memory and the number of operations. Also the checks that need numbers: slice
// bounds, windows, reshapes with // and %, broadcasts. Errors name the line. Thread-safe.
#pragma once

#include <vector>

#include "base/result.h"
#include "problem/problem.h"
#include "problem/slices.h"
#include "problem/window.h"

namespace kw::problem {

// What a Python function does is unknown; the guess is this many operations for each element that it takes or gives.
inline constexpr double kOpaqueOperations = 16;

struct NodeShapes {
  std::vector<tensor::Shape> shapes;       // by node
  std::vector<std::int64_t> counts;        // elements, by node
  std::vector<double> lengths;             // by node: terms that each element sums or picks from; else 1
  std::vector<std::vector<WindowNumbers>> windows;  // by node, of those that have them
  std::vector<std::vector<NodeId>> freed;  // by node: operands whose last reader it, or the region that ends with it, is
  std::vector<bool> live;                  // by node: an output needs it
  std::vector<double> work;                // by node: operations
  double operations = 0;                   // all together
  double matmul_operations = 0;
  double peak_bytes = 0;
  std::vector<Region> regions;             // all that is computed, in order
  std::vector<tensor::Shape> wholes, firsts;  // of a slice, by node: the shape of the whole, the index of its first element in
                                              // it; empty where the value is the whole
};

// How values are cut: `bytes` is about what one value of a slice takes (0: nothing is cut), `threads` compute slices.
struct Slicing {
  std::int64_t bytes = 0;
  int threads = 1;
};

Result<NodeShapes> node_shapes(const Problem& problem, const AxisValues& axes, bool keep_names = false, Slicing slicing = {});

}  // namespace kw::problem
