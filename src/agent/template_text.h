// What templates write of a graph's nodes: fp32 expressions of CUDA C++. Internal to agent.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
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
// Axes of 1 aside, the same ones in the same order.
bool only_adds_ones(const problem::SymbolicShape& from, const problem::SymbolicShape& to);

// kUnsupported where a tensor or an axis has one of the names that the kernel needs for itself.
Status has_names_free(const problem::Problem& problem, std::initializer_list<std::string_view> taken);

// The nodes that the outputs need.
std::vector<bool> needed_nodes(const problem::Problem& problem);

// A constant, or a size: of an axis, whose name is then among `axes` and whose value is in the kernel's axis_NAME.
inline bool is_number(const problem::Node& node) { return node.op == problem::Op::kConstant || node.op == problem::Op::kSize; }
Result<std::string> number_of(const problem::Problem& problem, const problem::Node& node, std::vector<std::string>& axes);

// Of what is done element by element, given its operands' names or numbers.
Result<std::string> expression_of(const problem::Problem& problem, const problem::Node& node, const std::vector<std::string>& operands);

// What a kernel is given: of each list, one name after the other with a comma behind it.
struct Signature {
  std::string parameters, arguments;   // of the kernel: pointers and sizes; and what is passed for them
  std::string entry;                   // of the entry
  unsigned widest = 1;                 // bytes of an element

  // kUnsupported: for a dtype of which templates know nothing. The second time a tensor is given nothing changes.
  Status add_input(const problem::Problem& problem, const problem::TensorDecl& input);
  Status add_output(const problem::Problem& problem, const problem::TensorDecl& output);
  void add_size(const std::string& name, const std::string& value);
  void add_axes(const std::vector<std::string>& axes);   // of number_of
  // What follows a kernel's `tune:` for elements an access, at most 16 bytes of the widest dtype: " 1 2 4".
  std::string vectors() const;

 private:
  Status add(const problem::Problem& problem, const problem::TensorDecl& tensor, bool output);
  std::vector<std::string> tensors_;
};

}  // namespace kw::agent
