// The operator graph: the reference of a problem as typed SSA nodes.
//
// A node is made once, by the parser, after its shape and kind were inferred and checked; its operands have
// smaller ids, so the list is in evaluation order and has no cycle. Kinds are what the mathematics needs:
// real, integer (arange, argmax, casts to integers; exact below 2^53), boolean (comparisons). Dtypes appear
// only where the text says so: at inputs, casts, stored names (`p: f16 = …`) and outputs.
// The meaning of every operator is in docs/formats/problem.md and is what evaluate.h computes.
// Values; thread-safe to read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "problem/dim.h"
#include "problem/python_section.h"
#include "tensor/dtype.h"

namespace kw::problem {

using tensor::DType;
using NodeId = std::int32_t;

enum class Kind { kReal, kInteger, kBoolean };
std::string_view kind_name(Kind kind);
Kind kind_of(DType dtype);

enum class Op {
#define KW_OP(id, name, group) id,
#include "problem/ops.def"
#undef KW_OP
};
std::string_view op_name(Op op);

// How a candidate may have computed the node; decides which honest errors the tolerance grants (tolerance.h).
enum class OpGroup {
  kSource,       // input, constant, arange
  kMove,         // exact: transpose, reshape, broadcast, slice, concat, select, comparisons, min, max, abs …
  kRound,        // correctly rounded in IEEE arithmetic: + - * and casts
  kApproximate,  // GPU approximations: division, exp, tanh, rsqrt …
  kReduce,       // sum, mean, prod, matmul, scans, scatter_add: error grows with the reduction length
  kPick,         // argmax, argmin, max, min over axes, sorts, running extremes: exact for exact operands
  kOpaque,       // a Python function: nothing is known of it
};
OpGroup op_group(Op op);

// What slides along one axis, with `before` and `after` elements added at its ends: `size` elements `dilation`
// apart, moved on by `step`.
struct Window {
  Dim size = 1, step = 1, dilation = 1, before, after;
};

struct Node {
  Op op = Op::kConstant;
  Kind kind = Kind::kReal;
  SymbolicShape shape;
  std::vector<NodeId> operands;
  std::vector<std::int64_t> axes;  // reductions: axes reduced, not negative, ascending; transpose:
                                   // permutation; concat, softmax: one axis; slice, scans, sorts,
                                   // gather, scatter: the axis; flip, and what has windows: in the
                                   // order of the text
  bool keepdims = false;       // reductions
  bool reverse = false;        // scans: from the end; sorts: descending
  double value = 0;            // constant
  std::int32_t input = -1;     // input: index into Problem::inputs
  std::optional<DType> dtype;  // cast: target; store: what an honest implementation may keep it in
  tensor::Rounding rounding = tensor::Rounding::kNearestEven;  // cast
  bool saturate = false;       // cast: beyond the range the largest finite value, not infinity or NaN
  Dim start, stop;             // slice and arange: [start, stop); size: start is its value
  std::int64_t step = 1;       // slice, arange
  std::vector<Window> windows; // by axis of `axes`: pad, windows, pools (`before` is the padding at either end;
                               // `after` is where the last window may end), convolutions (of conv_transpose
                               // those of the convolution it transposes; `after` is its output_padding)
  Dim groups = 1;              // convolutions
  bool count_padding = true;   // avg_pool: padding is part of the mean
  std::int32_t function = -1;  // python: index into Graph::python.functions
  std::int32_t output = 0;     // python: which of the values that the function gives
  Span span;                   // where in the text
  bool inside_function = false;  // a step of a function's expansion, not its result
};

struct Graph {
  std::vector<Node> nodes;
  PythonSection python;
  // The python nodes of the same call as `id`: other outputs of one function for the same operands. Ascending.
  std::vector<NodeId> same_call(NodeId id) const;
};

// A name of the reference: every assignment makes one. Outputs are among them.
struct NamedNode {
  std::string name;
  NodeId node = 0;
  std::optional<DType> stored;  // `p: f16 = …`: an implementation may keep p in f16 (see tolerance.h)
};

}  // namespace kw::problem
