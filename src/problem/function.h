// The functions of problem files: rows of tables, one table for each family. Internal to problem.
#pragma once

#include <span>
#include <string_view>

#include "problem/function_call.h"

namespace kw::problem {

struct Function {
  std::string_view name;
  std::string_view signature;  // what messages show
  std::size_t least, most;     // arguments by position
  std::string_view keywords;   // separated by blanks
  Result<NodeId> (*make)(Call&);
};

std::span<const Function> pointwise_functions();  // functions_pointwise.cc
std::span<const Function> activation_functions(); // functions_activation.cc
std::span<const Function> reduction_functions();  // functions_reduction.cc
std::span<const Function> movement_functions();   // functions_movement.cc
std::span<const Function> window_functions();     // functions_window.cc
std::span<const Function> index_functions();      // functions_index.cc
std::span<const Function> scan_functions();       // functions_scan.cc
std::span<const Function> random_functions();     // functions_random.cc
std::span<const Function> python_functions();     // functions_python.cc

}  // namespace kw::problem
