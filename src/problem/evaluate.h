// The reference interpreter: evaluates the operator graph on the host.
//
// Contract. In Precision::kReference every value is an fp64 number and every operator is as exact as fp64
// and libm make it; casts round to their dtype because the text says so; a stored dtype (`p: f16 = …`) does
// not round. Outputs come back in f64, *not* rounded to their declared dtype: the reference is what a
// perfect candidate would round. The result does not depend on the number of threads: reductions have a
// fixed order.
// Memory: nodes are freed after their last use, and large ones exist slice by slice only where the graph lets them (slices.h);
// the peak is known before anything is allocated, and a workload over `memory_limit` is a kLimit error that says what it needs. Operations are bounded likewise; so is time, which
// is looked at between operators.
// Functions of section python run in a jailed process (python_calls.h), one for each call whose answer is not known yet.
// Errors: inputs of the wrong number, dtype or shape; limits; what a Python function does wrong. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "problem/problem.h"
#include "tensor/tensor.h"

namespace kw::problem {

class PythonCalls;
std::shared_ptr<PythonCalls> make_python_calls();

enum class Precision {
  kReference,  // fp64
  kHonest,     // what a careful GPU kernel does: fp32 arithmetic and accumulation, stored names rounded to
               // their dtypes (outputs are not: the caller rounds them, as a store would)
  kDisturbed,  // fp64, each node pushed by the error its operator may honestly make (tolerance.h)
  kTruncated,  // a mutant: every input and node keeps fewer bits than one output has, and than any name that
               // a kernel may store (p: f16): three fewer, 10 where that is f32 (so that f32 becomes tf32 and
               // f16 becomes bf16)
};

inline constexpr std::int64_t kSliceBytes = 1 << 18;

struct EvaluateOptions {
  Precision precision = Precision::kReference;
  std::size_t truncated_output = 0;  // kTruncated: the output that says how many bits
  std::int64_t memory_limit = std::int64_t{4} << 30;
  double operation_limit = 2e12;
  int threads = 0;                // 0: as many as there are cores
  // Where many values are larger, they are computed in slices of about this size (slices.h); 0: never.
  std::int64_t slice_bytes = kSliceBytes;
  std::uint64_t disturbance = 0;  // seed of the signs in kDisturbed
  bool keep_names = false;        // also return the named intermediates
  double python_seconds = 300;    // for each call of a function of section python
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Remembers the answers of Python functions; shared by copies of these options.
  std::shared_ptr<PythonCalls> python = make_python_calls();
};

int threads_of(const EvaluateOptions& options);

// Seconds until the deadline; kLimit beyond it.
Result<double> seconds_left(const EvaluateOptions& options);

struct NamedTensor {
  std::string name;
  tensor::Tensor value;  // f64
};

struct Evaluation {
  std::vector<tensor::Tensor> outputs;  // f64, in the order of problem.outputs
  std::vector<NamedTensor> names;       // with keep_names, in order of assignment
};

Result<Evaluation> evaluate(const Problem& problem, const Workload& workload,
                            const std::vector<tensor::Tensor>& inputs, const EvaluateOptions& options = {});

// The value of every node, for evaluations that differ from this one in little. At Precision::kReference.
using NodeValues = std::vector<FreshVector<double>>;  // by node; empty where no output needs it

// kLimit where all of them together are more than the limit of memory.
Result<NodeValues> evaluate_nodes(const Problem& problem, const Workload& workload,
                                  const std::vector<tensor::Tensor>& inputs, const EvaluateOptions& options = {});

// evaluate() of a problem or inputs that differ from those of `before` in the nodes `changed` alone (an input is a node):
// computes what depends on them, and no further than values differ.
Result<Evaluation> evaluate_changed(const Problem& problem, const Workload& workload,
                                    const std::vector<tensor::Tensor>& inputs, const EvaluateOptions& options,
                                    const NodeValues& before, const std::vector<NodeId>& changed);

}  // namespace kw::problem
