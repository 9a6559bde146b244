// A problem: what to compute, as data. Text form and meaning: docs/formats/problem.md.
//
// Contract with a candidate: the parameters of its entry are bound by name to the inputs, outputs, axes and
// attributes declared here (include/kernelwright/candidate.h); every tensor is dense and row-major.
//
// parse_problem() checks everything that can be checked without a workload (names, kinds, symbolic shapes,
// dtypes, that each workload satisfies the constraints and its shapes fit) and gives the errors in source
// order; each has a span and a source line. Hostile text is bounded: 1 MiB of text, 4096 nodes, nesting of
// 200, 64 axes, rank 8, 1024 workloads.
// Values; thread-safe to read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "problem/dim.h"
#include "problem/graph.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace kw::problem {

// How an input is filled. Parameters are in the order of the text form; see inputs.h for the meaning.
struct Distribution {
  enum class Form {
    kNormal,    // normal(mean, deviation)
    kUniform,   // uniform(low, high)
    kIntegers,  // integers(low, high), both included; high may be a size over the axes
    kConstant,  // constant(value)
    kOneHot,    // one_hot(value): one element of the last axis is value, the others 0
    kSorted,    // sorted(low, high): uniform, ascending along the last axis
    kCancel,    // cancel(deviation): neighbours along the last axis are x, -x up to the dtype's rounding
    kSpikes,    // spikes(deviation, value): normal, with about one element in 256 equal to value
  };
  Form form = Form::kNormal;
  double a = 0;
  double b = 1;
  std::optional<Dim> high = std::nullopt;  // of integers, instead of b: known with the axes
  std::string text() const;                // "normal(0, 1)"
  // With `high` as a number. kInvalid when it lies below a.
  Result<Distribution> at(const AxisValues& axes) const;
};

// `M >= 1`, `K % 8 == 0`, `H % G == 0`: a comparison of two sizes.
struct Constraint {
  Dim left;
  std::string relation;  // "==", "!=", "<", "<=", ">", ">="
  Dim right;
  std::string text;  // as written
  Span span;
  Result<bool> holds(const AxisValues& axes) const;
};

struct Axis {
  std::string name;
  Span span;
};

struct Attribute {
  std::string name;
  double value = 0;
};

struct TensorDecl {
  std::string name;
  DType dtype = DType::kF32;
  SymbolicShape shape;
  Distribution distribution;  // inputs
  NodeId node = -1;           // the node of an input, or the node assigned to an output or a piece
  Span span;
  bool piece = false;         // of outputs: an intermediate that is asked for besides (asking_for)
};

enum class Role {
  kSmallest,  // the least work that is still the problem; exactly one or more per problem, run first
  kShape,     // tails, odd sizes, size one
  kEmulator,  // a scaled copy of real work that keeps its tile residues
  kReal,      // what people run; has a note that says where it comes from
};
std::string_view role_name(Role role);  // "smallest", "shape", "emulator", "real"

struct Workload {
  std::string name;
  Role role = Role::kShape;
  AxisValues axes;                                           // every axis of the problem
  std::vector<std::pair<std::string, Distribution>> inputs;  // overrides, by input name
  std::string note;
  Span span;
};

// An implementation that must be correct: `sm_80: "kernels/row_softmax.cu"`.
struct CandidateFile {
  std::string target;
  std::string path;         // as written: from the folder of the problem file, or from one above it
  Span span;
};

struct Problem {
  std::string name;         // an identifier
  std::string description;  // one line
  std::vector<Axis> axes;
  std::vector<Constraint> constraints;
  std::vector<Attribute> attributes;
  std::vector<TensorDecl> inputs;
  std::vector<TensorDecl> outputs;
  Graph graph;
  std::vector<TensorDecl> pieces;   // intermediates that a candidate may also write, in order of the reference
  std::vector<NamedNode> names;     // in order of assignment: named intermediates and outputs
  std::vector<Workload> workloads;  // in order of the text
  std::vector<CandidateFile> candidates;
  double tolerance_factor = 4;      // `tolerance: factor = 4`
  std::string file;
  std::string text;  // the source, whole

  const Workload* find_workload(std::string_view name) const;
  const TensorDecl* find_input(std::string_view name) const;
  const TensorDecl* find_output(std::string_view name) const;
};

// The first error; `file` only names the place.
Result<Problem> parse_problem(std::string_view text, std::string file);
// Reads at most 1 MiB; kNotFound or kIo when it cannot.
Result<Problem> load_problem(const std::string& path);

// Every error of the text that can be found in one reading, in order; empty: the text is a sound problem.
// What `kw problem check FILE` prints.
std::vector<Error> check_text(std::string_view text, std::string file);
// What no parse can see but a complete problem file should have: a smallest workload, a shape workload, a
// note at every real one, every axis and input used. Each is an Error with a remedy.
std::vector<Error> check(const Problem& problem);

// The problem that asks for `wanted` of its pieces as further outputs, behind its own; it has no pieces left.
Problem asking_for(Problem problem, const std::function<bool(const TensorDecl& piece)>& wanted);

// A workload of the judge's own: axes by value; fails where a constraint does not hold (names it), where an
// axis is missing or unknown, or where a shape is negative or too large.
Result<Workload> make_workload(const Problem& problem, std::string name, Role role, AxisValues axes);
Status check_workload(const Problem& problem, const Workload& workload);

// The concrete shape of a declared tensor under a workload.
Result<tensor::Shape> shape_of(const TensorDecl& declaration, const Workload& workload);
// How the workload fills an input: its own setting, else the declared one; with numbers for sizes.
Result<Distribution> distribution_of(const TensorDecl& input, const Workload& workload);
Result<tensor::Shape> concrete(const SymbolicShape& shape, const AxisValues& axes);

// What a workload moves and computes: bytes of inputs and outputs, and scalar operations of the reference
// (2·M·N·K for a matmul, one per element for the rest); for floors and for "this is too much" messages.
struct Cost {
  double input_bytes = 0;
  double output_bytes = 0;
  double needed_bytes = 0;       // the part of both that no implementation can leave alone: what is only picked from is left out
  double operations = 0;
  double matmul_operations = 0;  // the part of `operations` that tensor cores could do
  double peak_bytes = 0;         // fp64 memory that evaluate() will need at once
};
Result<Cost> cost_of(const Problem& problem, const Workload& workload);

}  // namespace kw::problem
