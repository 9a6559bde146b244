// What is computed element by element around the core of a kernel: epilogues of products, the expression on an element that is moved.
// Internal to agent.
#pragma once

#include <string>
#include <vector>

#include "agent/template_text.h"
#include "base/result.h"
#include "problem/problem.h"

namespace kw::agent {

// A coordinate of the kernel and the size of its axis: names of int64_t variables, the size's also one of the host's.
struct Coordinate {
  std::string at, size;
};

// Which element of an operand's leading axes belongs to element `at` of the whole's: "" the only one, "at", or "at % size" where they are
// its last ones. Nullopt: none of these.
std::optional<std::string> lead_at(const problem::SymbolicShape& lead, const problem::SymbolicShape& whole, const std::string& at, const std::string& size);

// Statements in fp32 for one element of a tensor of shape `whole`. Its last axes have a coordinate each (`trailing`), those before them
// one together (`lead`), counted as they lie in memory.
class Elements {
 public:
  Elements(const problem::Problem& problem, problem::SymbolicShape whole, std::string lead, std::vector<Coordinate> trailing, Signature& signature);

  void know(problem::NodeId id, std::string value);
  // The name or number of what a node has there; what it takes is added to the statements, its inputs to the signature. kUnsupported: why
  // it cannot be had element by element.
  Result<std::string> value_of(problem::NodeId id);
  // Each on a line behind `indent`.
  std::string statements(const std::string& indent) const;
  // The sizes computed with.
  const std::vector<std::string>& axes() const { return axes_; }

 private:
  Status make(size_t i);
  Status load(size_t i, const problem::TensorDecl& input, const problem::SymbolicShape& shape);
  const problem::TensorDecl* input_of(const problem::Node& node) const;

  const problem::Problem& problem_;
  problem::SymbolicShape whole_;
  std::string lead_;
  std::vector<Coordinate> trailing_;
  Signature& signature_;
  std::vector<std::string> values_, lines_, axes_;
};

}  // namespace kw::agent
