// Windows that slide along axes: how many fit, what is asked of them, and their numbers in a workload. Pure.
// Internal to problem.
#pragma once

#include <vector>

#include "problem/graph.h"

namespace kw::problem {

// How many windows an axis of `length` holds: (length + before + after - dilation (size - 1) - 1) // step + 1.
Result<Dim> window_count(const Dim& length, const Window& window);

// Elements from the first to the last of a window: dilation (size - 1) + 1.
Result<Dim> window_span(const Window& window);

// Elements that a transposed convolution makes of an axis of `length`: step (length - 1) + span - 2 before + after.
Result<Dim> scattered_size(const Dim& length, const Window& window);

// What holds for every window of `op` over an axis of `length`. A size that is not known yet (it has axes) is not
// looked at, so this is asked when the node is made and again with numbers.
Status check_window(Op op, const Dim& length, const Window& window);

struct WindowNumbers {
  std::int64_t size = 1, step = 1, dilation = 1, before = 0, after = 0;
};

// The windows of a node over operand shape `shape` with the axes' values; checked.
Result<std::vector<WindowNumbers>> window_numbers(const Node& node, const std::vector<std::int64_t>& shape,
                                                  const AxisValues& values);

}  // namespace kw::problem
