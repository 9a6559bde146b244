// What templates write of a graph's nodes: fp32 expressions of CUDA C++. Internal to agent.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "problem/problem.h"

namespace kw::agent {

// kUnsupported, with the remedy.
tl::unexpected<Error> no_template(const problem::Problem& problem, std::string why);

// "float", "__half", "__nv_bfloat16"; null for what templates neither load nor store.
const char* type_of(problem::DType dtype);
inline const char* type_of(problem::Kind kind) { return kind == problem::Kind::kBoolean ? "bool" : "float"; }

inline bool is_one(const problem::Dim& dim) { return dim.constant() == 1; }
bool all_one(const problem::SymbolicShape& shape);

// A constant, or a size: of an axis, whose name is then among `axes` and whose value is in the kernel's axis_NAME.
inline bool is_number(const problem::Node& node) { return node.op == problem::Op::kConstant || node.op == problem::Op::kSize; }
Result<std::string> number_of(const problem::Problem& problem, const problem::Node& node, std::vector<std::string>& axes);

// Of what is done element by element, given its operands' names or numbers.
Result<std::string> expression_of(const problem::Problem& problem, const problem::Node& node, const std::vector<std::string>& operands);

}  // namespace kw::agent
